"""HQM against plain `generate` with the shapes of 7B models, and the share of the device's peak
that each reaches.

    python tests/perf/respondents.py --shape 7b --device cuda --dtype bfloat16 --markdown gpu.md      # on a GPU of 40 GB or more
    python tests/perf/respondents.py --shape 7b-small --images 4 --batches 4 16 --part 16             # the same way, on a CPU
    python tests/perf/large_vllm.py FOLDER/llava                                                     # vLLM, at what `--keep FOLDER` left

LLaVA-1.5-7B and Qwen2-VL-7B with random weights made on the device (`tests/perf/large_models.py`).
Every piece of work is put three times, the original, the original again and the parallel form: 6
and 14 yes/no questions a picture, and one caption of at most 128 tokens, which end by chance after
.6 of them on average. HQM administers all of it into a store on disk. The rival opens the pictures,
runs the processor, generates and decodes, batch by batch, on a random part of the same requests.

The shares of peak (`tests/perf/peak.py`) are of HQM, and of plain `generate` at its best batch:
operations a second of what is read (pictures and questions) against a large `torch.matmul`, bytes a
second of decoding against a copy within the device. Each goal is 50 %. "In the model" is the time
of the model's calls, each waited for; "of the whole" is everything that the way took, with
planning, pictures and storing, from a run in which nothing was measured within.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

import hqm
from hqm.respondents.hf_loading import Loaded
from tests.perf.large_models import SHAPES, build_model, place_bytes, weights_of
from tests.perf.matrix_models import end_chances, let_end
from tests.perf.peak import Meter, Peaks, Spent, synchronised
from tests.perf.ways import (
    administered,
    answers_of,
    benchmark_folder,
    jobs_of,
    plain,
    prompt_of,
    requests_of,
    respondent_of,
)

GOAL = 0.5
"""Of the peak: of operations for yes/no, of bytes for captions."""
LENGTH = 0.6
"""The mean length of captions as a share of the longest."""


@dataclass
class Throughput:
    """One way of answering: its rate, and the shares of the device's peaks that it reaches."""

    rate: float
    """Answers a second."""
    reading_in_model: float = 0.0
    reading_of_whole: float = 0.0
    decoding_in_model: float = 0.0
    spent: dict[str, Spent] = field(default_factory=dict)


@dataclass
class Cell:
    """One model at one kind of work."""

    model: str
    work: str
    captions: bool
    requests: int
    equal: float
    """The share of greedy answers that are those of plain `generate` at batch 1."""
    hqm: Throughput
    plain: Throughput
    best: int
    """The batch at which plain `generate` is fastest."""
    batches: dict[int, float]
    """Answers a second of plain `generate` at each."""
    memory: float
    """The most bytes that the device held; 0 on a CPU."""

    @property
    def ratio(self) -> float:
        """HQM's rate over that of the best batch."""
        return self.hqm.rate / self.plain.rate

    @property
    def goal(self) -> tuple[str, float]:
        """What the goal is set for, and the share that HQM reaches in the model's calls."""
        if self.captions:
            return "bytes of decoding", self.hqm.decoding_in_model
        return "operations of reading", self.hqm.reading_in_model


def metered(
    loaded: Loaded,
    work: Callable[[], object],
    answers: int,
    seconds: float,
    peaks: Peaks,
    *,
    captions: bool,
) -> Throughput:
    """A way whose rate is known, run again to time the model's calls, and once more to count their
    operations. Those of captions are not counted: each of their thousands of steps would take
    several times as long, and their goal is one of bytes.
    """
    times, counts = Meter(loaded.model, counts=False), Meter(loaded.model, counts=True)
    with times.watching():
        work()
    if not captions:
        with counts.watching():
            work()
    spent = {
        kind: Spent(cost.calls, cost.seconds, counts.spent[kind].operations, cost.bytes)
        for kind, cost in times.spent.items()
    }
    reading = [spent["pictures"], spent["questions"]]
    operations = sum(calls.operations for calls in reading)
    model_seconds = sum(calls.seconds for calls in reading)
    decoding = spent["answers"]
    return Throughput(
        answers / seconds,
        operations / model_seconds / peaks.operations if model_seconds else 0.0,
        operations / seconds / peaks.operations,
        decoding.bytes / decoding.seconds / peaks.bytes if decoding.seconds else 0.0,
        spent,
    )


def measured(
    name: str,
    per_image: int,
    tokens: int,
    loaded: Loaded,
    scratch: Path,
    peaks: Peaks,
    options: argparse.Namespace,
) -> Cell:
    """Run one cell: `per_image` yes/no questions, or a caption of so many `tokens`."""
    device, folder = loaded.model.device, scratch / f"{per_image}-{tokens}"
    text = prompt_of(loaded)
    work = benchmark_folder(folder, options.images, per_image, caption_tokens=tokens)
    respondent = respondent_of(scratch / "model", loaded, options.hqm_batch)
    with hqm.Store(folder / "requests.sqlite") as store:
        requests = requests_of(jobs_of(store, work, respondent))
    rows = [
        {
            "prompt": text(request.prompt),
            "image": str(request.image),
            "tokens": request.sampling.max_tokens,
        }
        for request in requests
    ]
    (folder / "requests.json").write_text(json.dumps(rows))
    if tokens:
        let_end(loaded, end_chances(loaded, requests[:16], tokens), LENGTH)
    rng = np.random.default_rng(1)
    indices = sorted(rng.choice(len(requests), min(options.compared, len(requests)), replace=False))
    compared = [requests[i] for i in indices]
    single_answers = [answer.text for answer in plain(loaded, compared, 1, greedy=True)]
    equal = float(
        np.mean(
            [a == b for a, b in zip(answers_of(respondent, compared), single_answers, strict=True)]
        )
    )
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)

    def ours() -> dict[str, Any]:
        return administered(work, scratch / "model", loaded, options.hqm_batch)

    runs = [ours() for _ in range(options.rounds)]
    seconds = min(run["seconds"] for run in runs)
    memory = float(torch.cuda.max_memory_allocated(device)) if device.type == "cuda" else 0.0
    rates: dict[int, float] = {}
    parts: dict[int, list[Any]] = {}
    for size in options.batches:
        indices = sorted(
            rng.choice(len(requests), min(max(options.part, size), len(requests)), replace=False)
        )
        parts[size] = [requests[i] for i in indices]
        for _ in range(options.rounds):
            try:
                began = synchronised(device)
                plain(loaded, parts[size], size)
                rates[size] = max(
                    rates.get(size, 0.0), len(parts[size]) / (synchronised(device) - began)
                )
            except torch.OutOfMemoryError:
                print(f"batch {size} of plain generate does not fit", flush=True)
                break
    best = max(rates, key=lambda size: rates[size])

    def theirs() -> None:
        torch.manual_seed(0)  # answers of the same lengths every time
        plain(loaded, parts[best], best)

    return Cell(
        name,
        f"captions of {tokens}" if tokens else f"yes/no, {per_image} questions",
        bool(tokens),
        len(requests),
        equal,
        metered(loaded, ours, runs[0]["asked"], seconds, peaks, captions=bool(tokens)),
        metered(
            loaded,
            theirs,
            len(parts[best]),
            len(parts[best]) / rates[best],
            peaks,
            captions=bool(tokens),
        ),
        best,
        rates,
        memory,
    )


def line(cell: Cell) -> str:
    """A cell in a line."""
    quantity, share = cell.goal
    reading = (
        f" reading {cell.hqm.reading_in_model:.0%} of matmul in the model,"
        f" {cell.hqm.reading_of_whole:.0%} of the whole (plain {cell.plain.reading_in_model:.0%},"
        f" {cell.plain.reading_of_whole:.0%});"
    )
    return (
        f"{cell.model:9} {cell.work:20} {cell.hqm.rate:8.1f}/s : {cell.plain.rate:.1f}/s (batch"
        f" {cell.best}) = {cell.ratio:.2f};{'' if cell.captions else reading} decoding"
        f" {cell.hqm.decoding_in_model:.0%} of a copy (plain {cell.plain.decoding_in_model:.0%});"
        f" goal {GOAL:.0%} {quantity}: {'met' if share >= GOAL else 'missed'};"
        f" equal {cell.equal:.2f}"
    )


def markdown(cells: Sequence[Cell], machine: str, shape: str) -> str:
    """The cells as a table for a page."""
    heads = [
        "model",
        "work",
        "answers",
        "HQM, answers/s",
        "plain `generate`, best batch",
        "ratio",
        "reading, share of matmul",
        "of the whole time",
        "decoding, share of a copy",
        "the same of plain",
        "goal",
        "greedy answers equal",
        "memory, GB",
    ]
    lines = [machine, "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for cell in cells:
        quantity, share = cell.goal
        ours, plain = cell.hqm, cell.plain
        row = [
            SHAPES[shape][cell.model].title,
            cell.work,
            f"{cell.requests:,}",
            f"{ours.rate:.1f}",
            f"{plain.rate:.1f} ({cell.best})",
            f"{cell.ratio:.2f}",
            "" if cell.captions else f"{ours.reading_in_model:.0%}",
            "" if cell.captions else f"{ours.reading_of_whole:.0%}",
            f"{ours.decoding_in_model:.0%}",
            (
                ""
                if cell.captions
                else f"{plain.reading_in_model:.0%}, {plain.reading_of_whole:.0%}, "
            )
            + f"{plain.decoding_in_model:.0%}",
            f"{GOAL:.0%} of {quantity}: "
            + ("met" if share >= GOAL else f"**missed by {GOAL - share:.0%}**"),
            f"{cell.equal:.2f}",
            f"{cell.memory / 1e9:.1f}",
        ]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> list[Cell]:
    """Measure, print every cell as it is done, and write what is asked for."""
    parser = argparse.ArgumentParser(
        prog="respondents.py", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--shape", choices=SHAPES, default="7b")
    parser.add_argument("--models", nargs="+", choices=SHAPES["7b"], default=list(SHAPES["7b"]))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="")
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument(
        "--per-image", type=int, nargs="*", default=[6, 14], help="yes/no questions a picture"
    )
    parser.add_argument(
        "--captions", type=int, nargs="*", default=[128], help="the most tokens of captions"
    )
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 32, 64, 128])
    parser.add_argument("--hqm-batch", type=int, default=0, help="0: as HQM finds it")
    parser.add_argument(
        "--part", type=int, default=256, help="requests on which plain generate is timed"
    )
    parser.add_argument("--compared", type=int, default=8, help="greedy answers that are compared")
    parser.add_argument("--rounds", type=int, default=2, help="the best counts, for every way")
    parser.add_argument(
        "--peak-seconds", type=float, default=1.0, help="how long each peak is tried for"
    )
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument(
        "--keep", type=Path, help="a new folder for each model's config and its requests"
    )
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    logging.getLogger("hqm").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()
    device = torch.device(options.device)
    dtype = options.dtype or ("bfloat16" if device.type == "cuda" else "float32")
    peaks = Peaks.measure(device, getattr(torch, dtype), options.peak_seconds)
    hardware = (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"{platform.machine()}, {os.cpu_count()} cores"
    )
    machine = (
        f"{hardware}, torch {torch.__version__}, transformers {transformers.__version__}, {dtype};"
        f" a matrix product reaches {peaks.operations / 1e12:.4g} T operations/s, a copy"
        f" {peaks.bytes / 1e9:.4g} GB/s."
    )
    print(machine, flush=True)
    cells = []
    began = time.perf_counter()
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            scratch = options.keep / name if options.keep else Path(folder)
            loaded = build_model(options.shape, name, scratch / "model", options.device, dtype)
            weights = weights_of(loaded)
            print(
                f"{SHAPES[options.shape][name].title}: {weights:,} weights,"
                f" {weights * loaded.model.dtype.itemsize / 1e9:.1f} GB; {place_bytes(loaded):,}"
                " bytes of keys and values a token",
                flush=True,
            )
            for per_image, tokens in [
                *((n, 0) for n in options.per_image),
                *((1, n) for n in options.captions),
            ]:
                cells.append(measured(name, per_image, tokens, loaded, scratch, peaks, options))
                print(line(cells[-1]), flush=True)
            del loaded
            if device.type == "cuda":
                torch.cuda.empty_cache()
    text = markdown(cells, machine, options.shape)
    print(f"\n{text}\n{time.perf_counter() - began:.0f} s")
    if options.json:
        payload = {
            "machine": machine,
            "peaks": asdict(peaks),
            "cells": [asdict(cell) for cell in cells],
        }
        options.json.write_text(json.dumps(payload, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(text)
    return cells
