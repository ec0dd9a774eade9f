"""HQM against plain `generate` on every shape of work: models x work x picture tokens.

    python tests/perf/respondents.py --matrix --json out/matrix.json --markdown out/matrix.md
    python tests/perf/respondents.py --matrix --models llava qwen2_vl_4 --work yesno6 caption24 --tokens 576

Every cell is one run of one process: the same model object, pictures, requests, sampling and
threads for all ways, which take turns. HQM plans, asks and stores everything, into a store on disk.
The rival does what a harness does with every batch: opens the pictures, runs the processor,
`generate` (padded on the left, until all rows have ended), decodes. It is timed at every size in
`--batches` on a random part of the same requests, in their order: at least two batches, and at
least `--least` seconds.

The ratio is HQM's rate over that of the best batch, the median of the rounds for each. The ratio by
processor seconds is made alike; with one thread (`--threads 1`) it hardly depends on what else the
machine does, with more of them torch's threads wait for each other at full speed, which counts.
HQM's time holds its check of the first answers against plain `generate`, once a run, which weighs
more in runs as small as these than in a real one: few `--images` make small ratios.

Work: `yesno1` and `yesno6` are one and six yes/no questions a picture, `caption24` and `caption128`
one caption of at most so many tokens; each is put three times: the original, the original again,
and the parallel form. Captions end by chance: the end token's score has a bias, in the model
itself, by which sampled captions take about .6 of the tokens on average; the mean lengths are
printed.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

import hqm
from hqm.respondents.hf_loading import Loaded
from tests.perf.matrix_models import MODELS, TITLES, end_chances, let_end, picture_tokens
from tests.perf.ways import (
    PARTS_OF_THREE,
    administered,
    answers_of,
    benchmark_folder,
    jobs_of,
    plain,
    requests_of,
    respondent_of,
)

LENGTH = 0.6
"""The mean length of captions as a share of the longest."""
CALIBRATED = 32
"""Captions from which the end token's chances are read."""


@dataclass(frozen=True)
class Work:
    """A shape of work, the default number of pictures at 10 and at 576 tokens, and what it has to
    reach at 576.
    """

    title: str
    per_image: int
    caption_tokens: int
    images: dict[int, int]
    target: float


WORK = {
    "yesno1": Work("yes/no, 1 question", 1, 0, {10: 160, 576: 48}, 1.0),
    "yesno6": Work("yes/no, 6 questions", 6, 0, {10: 48, 576: 24}, 3.0),
    "caption24": Work("captions of 24", 1, 24, {10: 96, 576: 48}, 1.5),
    "caption128": Work("captions of 128", 1, 128, {10: 64, 576: 48}, 1.5),
}


@dataclass
class Cell:
    """What was measured of one model at one kind of work."""

    model: str
    work: str
    tokens: int
    """The column; what the pictures really have is in `mean_tokens`, and the fewest and most in
    `span`.
    """
    mean_tokens: float
    span: tuple[int, int]
    shares: str = ""
    images: int = 0
    requests: int = 0
    rates: dict[str, list[float]] = field(default_factory=dict)
    """Way -> answers a second, round by round."""
    worked: dict[str, list[float]] = field(default_factory=dict)
    """Way -> processor seconds an answer, round by round."""
    lengths: dict[str, float] = field(default_factory=dict)
    """Mean tokens an answer, of HQM and of plain `generate`."""
    equal: dict[str, float] = field(default_factory=dict)
    """Way -> the share of greedy answers equal to those of plain `generate` at batch 1."""
    load: float = 0.0
    seconds: float = 0.0
    """The whole cell's."""
    planned: list[float] = field(default_factory=list)
    """The part of HQM's seconds in which it read the benchmark and planned, round by round."""
    best: str = ""
    ratio: float = 0.0
    best_by_processor: str = ""
    ratio_by_processor: float = 0.0

    def settle(self) -> None:
        """Find the best batch and the ratios."""
        rate = {method: statistics.median(rounds) for method, rounds in self.rates.items()}
        cost = {method: statistics.median(rounds) for method, rounds in self.worked.items()}
        plain_methods = [method for method in rate if method != "HQM"]
        self.best = max(plain_methods, key=lambda method: rate[method])
        self.ratio = rate["HQM"] / rate[self.best]
        self.best_by_processor = min(plain_methods, key=lambda method: cost[method])
        self.ratio_by_processor = cost[self.best_by_processor] / cost["HQM"]

    @property
    def equal_to_plain(self) -> tuple[float, float]:
        """The least share of greedy answers equal to those at batch 1: of HQM's, and of the larger
        batches'.
        """
        return self.equal["HQM"], min(
            [1.0, *(share for method, share in self.equal.items() if method != "HQM")]
        )

    @property
    def target(self) -> float:
        """The least ratio that the work has to reach."""
        return WORK[self.work].target if self.tokens > 100 and self.model != "paligemma" else 1.0

    def line(self) -> str:
        """The cell in a line."""
        rate = {method: statistics.median(rounds) for method, rounds in self.rates.items()}
        return (
            f"{self.model:12}{self.work:11}{self.mean_tokens:6.1f} tokens  {self.ratio:6.2f} x"
            f" batch {self.best:3} ({rate['HQM']:.1f}/s : {rate[self.best]:.1f}/s)  by processor"
            f" {self.ratio_by_processor:6.2f} x batch {self.best_by_processor:3}  equal"
            f" {self.equal_to_plain[0]:.2f} (batches {self.equal_to_plain[1]:.2f})  mean length"
            f" {self.lengths['HQM']:.1f} : {self.lengths['plain']:.1f}  load {self.load:.1f} "
            f" {self.seconds:.0f} s"
        )


def measured(
    name: str,
    work: str,
    column: int,
    loaded: Loaded,
    scratch: Path,
    odds: Any,
    options: argparse.Namespace,
) -> Cell:
    """Run one cell; `odds` are those of the end token in captions (`end_chances`)."""
    began, kind, model = time.perf_counter(), WORK[work], MODELS[name][column]
    images = options.images or kind.images[column]
    folder = benchmark_folder(
        scratch / work,
        images,
        kind.per_image,
        sizes=model.sizes,
        caption_tokens=kind.caption_tokens,
    )
    pictures = sorted((folder / "images").iterdir())[: len(model.sizes)]
    counted = picture_tokens(loaded, pictures)
    cell = Cell(
        name, work, column, float(np.mean(counted)), (min(counted), max(counted)), images=images
    )
    cell.load = os.getloadavg()[0]
    if kind.caption_tokens:
        let_end(loaded, odds[:, : kind.caption_tokens], LENGTH)
    rng = np.random.default_rng(1)

    def draw_subset(requests: Sequence[Any], count: int) -> list[Any]:
        """A random part, in the order of the benchmark."""
        return [
            requests[i]
            for i in sorted(rng.choice(len(requests), min(count, len(requests)), replace=False))
        ]

    respondent = respondent_of(scratch / "model", loaded, options.hqm_batch)
    with hqm.Store(scratch / f"{work}.sqlite") as store:
        parts = PARTS_OF_THREE[: 1 if options.once else 3]
        requests = requests_of(jobs_of(store, folder, respondent, parts))
    # the same answers, greedily, every way; it warms all of them up, too
    compared = draw_subset(requests, options.compared)
    single_answers = [answer.text for answer in plain(loaded, compared, 1, greedy=True)]
    method_answers = {"HQM": answers_of(respondent, compared)}
    cell.shares = respondent.how
    for size in sorted({min(size, len(compared)) for size in options.batches} - {1}):
        method_answers[str(size)] = [
            answer.text for answer in plain(loaded, compared, size, greedy=True)
        ]
    cell.equal = {
        method: float(np.mean([a == b for a, b in zip(texts, single_answers, strict=True)]))
        for method, texts in method_answers.items()
    }

    lengths: dict[str, list[float]] = {"HQM": [], "plain": []}
    order = ["HQM", *map(str, options.batches)]
    for turn in range(options.rounds):
        begin = turn % len(order)
        for method in [*order[begin:], *order[:begin]]:
            if method == "HQM":
                run = administered(folder, scratch / "model", loaded, options.hqm_batch, parts)
                count, seconds, worked = run["asked"], run["seconds"], run["worked"]
                lengths["HQM"].append(run["tokens"])
                cell.planned.append(run["planned"])
            else:
                count, seconds, worked = 0, 0.0, 0.0
                while seconds < options.least or not count:
                    subset = draw_subset(requests, max(2 * int(method), options.part))
                    clock, cpu = time.perf_counter(), time.process_time()
                    answers = plain(loaded, subset, int(method))
                    seconds, worked = (
                        seconds + time.perf_counter() - clock,
                        worked + time.process_time() - cpu,
                    )
                    count += len(subset)
                    lengths["plain"] += [answer.tokens for answer in answers]
            cell.rates.setdefault(method, []).append(count / seconds)
            cell.worked.setdefault(method, []).append(worked / count)
    cell.requests = len(requests)
    cell.lengths = {method: float(np.mean(tokens)) for method, tokens in lengths.items()}
    cell.seconds = time.perf_counter() - began
    cell.settle()
    return cell


def main(arguments: Sequence[str] | None = None) -> list[Cell]:
    """Measure, print every cell as it is done, and write what is asked for."""
    parser = argparse.ArgumentParser(
        prog="respondents.py --matrix", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--work", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--tokens", type=int, nargs="+", choices=(10, 576), default=[10, 576])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--hqm-batch", type=int, default=0, help="0: as HQM finds it")
    parser.add_argument("--once", action="store_true", help="ask every question once, in one run")
    parser.add_argument(
        "--images", type=int, default=0, help="pictures a cell; 0: as many as the work needs"
    )
    parser.add_argument(
        "--part", type=int, default=16, help="the least number of answers a batch size is timed on"
    )
    parser.add_argument(
        "--least",
        type=float,
        default=1.0,
        help="the least number of seconds it is timed for, a round",
    )
    parser.add_argument("--compared", type=int, default=8, help="greedy answers that are compared")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--threads", type=int, default=0, help="torch's threads, for all ways; 0: as torch has them"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    logging.getLogger("hqm").setLevel(logging.ERROR)  # what a model shares is in the tables
    began = time.perf_counter()
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, torch"
        f" {torch.__version__}, transformers {transformers.__version__}, float32"
    )
    print(machine, flush=True)
    cells = []
    for name in options.models:
        for column in options.tokens:
            with tempfile.TemporaryDirectory() as scratch:
                for cell in cells_of_model(name, column, Path(scratch), options):
                    cells.append(cell)
                    print(cell.line(), flush=True)
    minutes = (time.perf_counter() - began) / 60
    text = markdown(cells, machine, minutes, options)
    print("\n" + text)
    if options.json:
        payload = {
            "machine": machine,
            "minutes": minutes,
            "cells": [asdict(cell) for cell in cells],
        }
        options.json.write_text(json.dumps(payload, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(text)
    return cells


def cells_of_model(
    name: str, column: int, scratch: Path, options: argparse.Namespace
) -> Iterator[Cell]:
    """The cells of one model at one number of picture tokens."""
    loaded = MODELS[name][column].built(scratch / "model")
    max_tokens = max(WORK[work].caption_tokens for work in options.work)
    odds = None
    if max_tokens:
        folder = benchmark_folder(
            scratch / "odds",
            CALIBRATED,
            1,
            sizes=MODELS[name][column].sizes,
            caption_tokens=max_tokens,
        )
        with hqm.Store(scratch / "odds.sqlite") as store:
            jobs = jobs_of(store, folder, respondent_of(scratch / "model", loaded))
        odds = end_chances(loaded, requests_of(jobs)[:CALIBRATED], max_tokens)
    for work in options.work:
        yield measured(name, work, column, loaded, scratch, odds, options)


def markdown(
    cells: Sequence[Cell], machine: str, minutes: float, options: argparse.Namespace
) -> str:
    """The matrix as a page can take it: the ratios, then every cell in a row, then wins and losses
    in words.
    """
    lines = [
        (
            f"Measured in {minutes:.0f} minutes on {machine}; load {min(c.load for c in cells):.1f}"
            f" to {max(c.load for c in cells):.1f}; {options.rounds}"
            f" round{'s' if options.rounds > 1 else ''}. A ratio is HQM's answers a second over"
            " those of plain `generate` at its best batch of"
            f" {', '.join(map(str, options.batches))} (in brackets); behind the stroke, the ratio"
            " by processor seconds. What is below its target is bold."
        ),
        "",
    ]
    works = [work for work in WORK if any(cell.work == work for cell in cells)]
    for column in sorted({cell.tokens for cell in cells}):
        lines += [
            "| "
            + " | ".join([f"about {column} picture tokens", *(WORK[work].title for work in works)])
            + " |"
        ]
        lines += ["|" + "---|" * (len(works) + 1)]
        for name in MODELS:
            row = {cell.work: cell for cell in cells if (cell.model, cell.tokens) == (name, column)}
            if row:
                lines.append(
                    "| "
                    + " | ".join([TITLES[name], *(_ratio(row.get(work)) for work in works)])
                    + " |"
                )
        lines.append("")
    heads = [
        "model",
        "work",
        "picture tokens",
        "pictures",
        "answers",
        "HQM, answers/s",
        *(f"batch {size}" for size in options.batches),
        "HQM, processor ms an answer",
        "best plain",
        "greedy answers equal",
        "those of batches",
        "mean tokens, HQM",
        "plain",
        "load",
    ]
    lines += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(_row(cell, options.batches)) + " |" for cell in cells]
    return "\n".join([*lines, "", _in_words(cells), ""])


def _ratio(cell: Cell | None) -> str:
    if cell is None:
        return ""
    text = f"{cell.ratio:.2f} (batch {cell.best}) / {cell.ratio_by_processor:.2f}"
    return f"**{text}**" if cell.ratio < cell.target else text


def _row(cell: Cell, batches: Sequence[int]) -> list[str]:
    min_tokens, max_tokens = cell.span
    counted = (
        f"{cell.mean_tokens:g}"
        if min_tokens == max_tokens
        else f"{cell.mean_tokens:.1f} ({min_tokens} to {max_tokens})"
    )
    middle = {method: statistics.median(rounds) for method, rounds in cell.rates.items()}
    cost = {method: 1000 * statistics.median(rounds) for method, rounds in cell.worked.items()}
    return [
        TITLES[cell.model],
        WORK[cell.work].title,
        counted,
        str(cell.images),
        str(cell.requests),
        *(f"{middle[method]:.1f}" for method in ("HQM", *map(str, batches))),
        f"{cost['HQM']:.1f}",
        f"{cost[cell.best_by_processor]:.1f}",
        *(f"{share:.2f}" for share in cell.equal_to_plain),
        f"{cell.lengths['HQM']:.1f}",
        f"{cell.lengths['plain']:.1f}",
        f"{cell.load:.1f}",
    ]


def _in_words(cells: Sequence[Cell]) -> str:
    """Wins and losses."""
    faster = [cell for cell in cells if cell.ratio >= 1]
    slower = sorted((cell for cell in cells if cell.ratio < 1), key=lambda cell: cell.ratio)
    missed = [cell for cell in cells if 1 <= cell.ratio < cell.target]
    unequal = [cell for cell in cells if cell.equal_to_plain[0] < 1]

    def list_cells(
        selection: Sequence[Cell], value: Callable[[Cell], float] = lambda cell: cell.ratio
    ) -> str:
        return "; ".join(
            f"{TITLES[cell.model]}, {WORK[cell.work].title}, {cell.mean_tokens:.0f} tokens:"
            f" {value(cell):.2f}"
            for cell in selection
        )

    sentences = [
        f"HQM is at least as fast as the best batch in {len(faster)} of {len(cells)} cells."
    ]
    if slower:
        sentences.append(f"**It is slower in {len(slower)}** ({list_cells(slower)}).")
    if missed:
        sentences.append(
            f"It is faster, and below the target, in {len(missed)} ({list_cells(missed)})."
        )
    sentences.append(
        f"Greedy answers are not all those of batch 1 in {len(unequal)} cells (share equal: "
        f"{list_cells(unequal, lambda cell: cell.equal_to_plain[0])})."
        if unequal
        else "All greedy answers compared are equal."
    )
    return " ".join(sentences)
