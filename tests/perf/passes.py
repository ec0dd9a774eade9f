"""How often a picture goes through the model: prefix passes a picture, in a benchmark of AMBER-d's
shape.

    python tests/perf/respondents.py --passes
    python tests/perf/respondents.py --passes --images 0 --memories 39 --json out/passes.json

AMBER-d asks 14,216 yes/no questions about 1,004 pictures, 7 to 25 about each. Its questions are
read from `HQM_DATA` where they are; otherwise made, with the same mean. A tiny LLaVA answers them
in 3 and in 6 administrations (of the original and the parallel form, half each or one more of the
original) while memory holds so many rows: `TransformersRespondent(batch=N)`. `--images` takes a
random part of the pictures with all their questions; 0 takes all.

Counted are real forward passes: how many pictures the decoder read (picture tokens in its calls,
over the tokens of one), and how many went through the vision tower. What plain `generate` reads is
counted apart: HQM's check of the first answers, which is the same few rows however large the
benchmark is, and whatever falls back to plain batches.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from hqm.respondents.hf_loading import load
from tests.perf.ways import OBJECT_NAMES, administered, benchmark_folder
from tests.tiny_models import build

PICTURES, MIN_QUESTIONS, MAX_QUESTIONS, MEAN = 1004, 7, 25, 14216 / 1004
"""AMBER-d's pictures, and the fewest, the most and the mean number of questions about one."""
COLOURS = "red blue green white black".split()


@dataclass
class Passes:
    """Pictures that the decoder read outside of plain `generate` and within it, pictures through
    the tower, calls of the model.
    """

    shared: float = 0.0
    within_generate: float = 0.0
    tower: int = 0
    calls: int = 0


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    administrations: int
    memory: int
    pictures: int
    answers: int
    passes: Passes
    seconds: float

    @property
    def a_picture(self) -> float:
        """Prefix passes a picture, without those of plain `generate`."""
        return self.passes.shared / self.pictures


def amber_questions() -> tuple[list[list[str]], str]:
    """The questions about each picture of AMBER-d, and where they come from."""
    file = Path(os.environ.get("HQM_DATA", "")) / "amber" / "query" / "query_discriminative.json"
    if os.environ.get("HQM_DATA") and file.is_file():
        by_picture: dict[str, list[str]] = {}
        for row in json.loads(file.read_text(encoding="utf-8")):
            by_picture.setdefault(row["image"], []).append(row["query"])
        return list(by_picture.values()), "AMBER's own questions"
    rng = np.random.default_rng(0)
    all_questions = [
        f"Is there a {colour} {noun} in this image?" for colour in COLOURS for noun in OBJECT_NAMES
    ]
    counts = MIN_QUESTIONS + rng.binomial(
        MAX_QUESTIONS - MIN_QUESTIONS,
        (MEAN - MIN_QUESTIONS) / (MAX_QUESTIONS - MIN_QUESTIONS),
        PICTURES,
    )
    return [
        [str(text) for text in rng.permutation(all_questions)[:count]] for count in counts
    ], "made questions (no HQM_DATA)"


@contextmanager
def counted(model: Any) -> Iterator[Passes]:
    """Count what goes through a model meanwhile."""
    passes, depth = Passes(), [0]
    mark, image_tokens = model.config.image_token_id, model.config.image_seq_length
    forward, generate = model.forward, model.generate

    @functools.wraps(forward)  # generate looks at the parameters
    def count(*args: Any, **settings: Any) -> Any:
        passes.calls += 1
        if settings.get("input_ids") is None:
            raise RuntimeError(
                "the model was called without input_ids, by which its pictures are counted"
            )
        read = int((settings["input_ids"] == mark).sum()) / image_tokens
        if depth[0]:
            passes.within_generate += read
        else:
            passes.shared += read
        return forward(*args, **settings)

    def generating(*args: Any, **settings: Any) -> Any:
        depth[0] += 1
        try:
            return generate(*args, **settings)
        finally:
            depth[0] -= 1

    def look(_module: Any, arguments: Any, keywords: Any) -> None:
        passes.tower += len(arguments[0] if arguments else keywords["pixel_values"])

    handle = model.model.vision_tower.register_forward_pre_hook(look, with_kwargs=True)
    model.forward, model.generate = count, generating
    try:
        yield passes
    finally:
        handle.remove()
        del model.forward, model.generate


def parts_of(administrations: int) -> list[tuple[int, bool]]:
    """Run and form of each administration: 3 are the original, again, and the parallel form; 6 are
    three runs of both.
    """
    original = administrations - administrations // 2
    return [(run, False) for run in range(original)] + [
        (run, True) for run in range(administrations // 2)
    ]


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    """Count and print."""
    parser = argparse.ArgumentParser(
        prog="respondents.py --passes", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--administrations", type=int, nargs="+", default=[3, 6])
    parser.add_argument(
        "--memories", type=int, nargs="+", default=[39, 19, 128], help="rows that memory holds"
    )
    parser.add_argument(
        "--images", type=int, default=100, help="pictures, drawn at random; 0: all 1,004"
    )
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    transformers.utils.logging.disable_progress_bar()
    questions, source = amber_questions()
    if options.images:
        rng = np.random.default_rng(2)
        indices = rng.choice(len(questions), min(options.images, len(questions)), replace=False)
        questions = [questions[i] for i in sorted(indices)]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        model_folder = build("llava", Path(scratch) / "model")
        loaded = load(
            str(model_folder),
            revision="",
            device="cpu",
            dtype="float32",
            attention="auto",
            name="passes",
        )
        folder = benchmark_folder(
            Path(scratch) / "perf", len(questions), 0, sizes=((64, 48),), questions=questions
        )
        n_questions = sum(map(len, questions))
        print(
            f"{len(questions)} pictures, {n_questions} questions"
            f" ({n_questions / len(questions):.1f} a"
            f" picture): {source}",
            flush=True,
        )
        for administrations in options.administrations:
            for memory in options.memories:
                began = time.perf_counter()
                with counted(loaded.model) as passes:
                    run = administered(
                        folder, model_folder, loaded, memory, parts_of(administrations)
                    )
                row = Row(
                    administrations,
                    memory,
                    len(questions),
                    run["asked"],
                    passes,
                    time.perf_counter() - began,
                )
                rows.append(row)
                print(
                    f"{administrations} administrations, {memory:4} rows: {row.a_picture:.3f}"
                    f" passes a picture (tower {passes.tower / row.pictures:.3f}; within plain"
                    f" generate {passes.within_generate:g} rows); {passes.calls} calls,"
                    f" {row.answers} answers, {row.seconds:.0f} s",
                    flush=True,
                )
    text = markdown(rows, source)
    print("\n" + text)
    if options.json:
        row_dicts = [{**asdict(row), "passes_a_picture": row.a_picture} for row in rows]
        options.json.write_text(json.dumps({"source": source, "rows": row_dicts}, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(text)
    return rows


def markdown(rows: Sequence[Row], source: str) -> str:
    """The counts as a table for a page."""
    memories = list(dict.fromkeys(row.memory for row in rows))
    heads = ["prefix passes a picture", *(f"memory of {memory} rows" for memory in memories)]
    lines = [
        (
            f"{rows[0].pictures:,} pictures, {source}; the target is 1.05 at most, what is above it"
            " is bold."
        ),
        "",
    ]
    lines += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for administrations in dict.fromkeys(row.administrations for row in rows):
        by_memory = {row.memory: row for row in rows if row.administrations == administrations}
        texts = [
            f"{row.a_picture:.3f}" if row.a_picture <= 1.05 else f"**{row.a_picture:.3f}**"
            for row in by_memory.values()
        ]
        lines.append("| " + " | ".join([f"{administrations} administrations", *texts]) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
