"""Questions a second: HQM against plain `generate`, one question at a time and in batches.

    python tests/perf/respondents.py                                  # CPU, a small LLaVA with 576 picture tokens
    python tests/perf/respondents.py --matrix                         # models x work x picture tokens (tests/perf/matrix.py)
    python tests/perf/respondents.py --passes                         # prefix passes a picture (tests/perf/passes.py)
    python tests/perf/respondents.py --shape 7b --device cuda         # 7B shapes on a GPU, and shares of its peak (tests/perf/large.py)

The same model, machine, pictures and questions for all: `--images` pictures with `--per-image`
questions (POPE: 500 with 6), put three times: the original, the original again (retest), and the
flipped form. HQM administers everything into a store on disk, worker processes off. The rivals do
what harnesses do for every question: open the picture, run the processor, `generate`, decode; they
are timed on a random part (`--part`) of the questions and their rate is carried over. The ways take
turns, `--rounds` times. Sampled answers are two tokens long, "Yes" and its end. The answers of a
part are compared, greedily, between the ways.

What is printed: questions a second, ratios, where HQM's time went, what it spent outside of the
model, start times. On a machine that others use, the processor seconds a question say more than the
clock.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import torch
from transformers import LlavaForConditionalGeneration, set_seed

from hqm.respondents.hf_loading import Loaded, load
from tests.perf.ways import Clock, administered, answers_of, benchmark_folder, plain, respondent_of
from tests.tiny_models import llava_parts, save

SHAPES: dict[str, dict[str, Any]] = {
    "small": {
        "vision": {
            "hidden_size": 128,
            "intermediate_size": 512,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
        },
        "hidden_size": 256,
        "intermediate_size": 688,
        "num_hidden_layers": 6,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "head_dim": 32,
        "initializer_range": 0.1,
    },
}
"""A decoder of 7 million weights."""


def make_model(folder: Path, shape: str, device: str, dtype: str) -> Loaded:
    """The model, its weights from a seed."""
    set_seed(0)
    config, processor, tok = llava_parts(size=336, patch=14, **SHAPES[shape])
    save(folder, LlavaForConditionalGeneration(config), processor, tok)
    return load(str(folder), revision="", device=device, dtype=dtype, attention="auto", name="perf")


def start_times() -> dict[str, float]:
    """The best of five starts of the command line."""
    best = {}
    for words in (["--help"], ["list"], ["list", "respondents"]):
        times = []
        for _ in range(5):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "hqm.cli", *words], capture_output=True, check=True
            )
            times.append(time.perf_counter() - began)
        best["hqm " + " ".join(words)] = min(times)
    return best


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for option in ("--matrix", "--passes"):
        if option in words:
            module = importlib.import_module(f"tests.perf.{option[2:]}")
            module.main([word for word in words if word != option])
            return
    if any(word.removeprefix("--shape=").startswith("7b") for word in words):
        importlib.import_module("tests.perf.large").main(words)
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--per-image", type=int, nargs="+", default=[6])
    parser.add_argument("--batches", type=int, nargs="+", default=[2, 4, 8, 16, 32])
    parser.add_argument("--hqm-batch", type=int, default=0, help="0: as HQM finds it")
    parser.add_argument(
        "--part", type=int, default=96, help="questions the rivals are timed on, a round"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(words)
    if options.threads:
        torch.set_num_threads(options.threads)
    results: dict[str, Any] = {
        "machine": (
            f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads,"
            f" {options.device}"
        ),
        "torch": torch.__version__,
        "shape": options.shape,
        "starts": start_times(),
    }
    for per_image in options.per_image:
        with tempfile.TemporaryDirectory() as scratch:
            results[f"per_image_{per_image}"] = compare(Path(scratch), per_image, options)
    print(json.dumps(results, indent=1))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def compare(scratch: Path, per_image: int, options: argparse.Namespace) -> dict[str, Any]:
    """All ways on one set of questions."""
    folder = benchmark_folder(scratch / "perf", options.images, per_image)
    loaded = make_model(scratch / "model", options.shape, options.device, options.dtype)
    clock = Clock(loaded.model)
    weights = sum(p.numel() for p in loaded.model.parameters())
    print(
        f"{weights / 1e6:.1f} M weights, {options.images} pictures x {per_image} questions x 3",
        flush=True,
    )

    # the same answers: a few pictures, greedily, every way
    small = benchmark_folder(scratch / "few", 4, per_image)
    compared = administered(small, scratch / "model", loaded, options.hqm_batch)["requests"]
    single_answers, batched = (
        [a.text for a in plain(loaded, compared, size, greedy=True)] for size in (1, 8)
    )
    ours = answers_of(respondent_of(scratch / "model", loaded), compared)
    equal_shares = {
        "batch 1": float(np.mean([a == b for a, b in zip(ours, single_answers, strict=True)])),
        "batch 8": float(np.mean([a == b for a, b in zip(ours, batched, strict=True)])),
    }

    rng = np.random.default_rng(1)
    rates: dict[str, list[float]] = {}
    cores: dict[str, list[float]] = {}
    runs = []
    requests: list[Any] = []
    for turn in range(options.rounds):
        before, calls = dict(clock.spent), clock.calls
        run = administered(folder, scratch / "model", loaded, options.hqm_batch)
        cores.setdefault("HQM", []).append(run["worked"] / run["asked"])
        requests = run["requests"]
        spent = {kind: seconds - before.get(kind, 0.0) for kind, seconds in clock.spent.items()}
        runs.append(
            {
                "asked": run["asked"],
                "seconds": run["seconds"],
                "planned": run["planned"],
                "calls": clock.calls - calls,
                "spent": spent,
            }
        )
        rates.setdefault("HQM", []).append(run["asked"] / run["seconds"])
        print(f"round {turn}: HQM {rates['HQM'][-1]:.2f}/s", flush=True)
        subset = [
            requests[i]
            for i in sorted(
                rng.choice(len(requests), min(options.part, len(requests)), replace=False)
            )
        ]
        for size in (1, *options.batches):
            questions = subset if size > 1 else subset[: max(8, len(subset) // 2)]
            began, worked = clock.read(), time.process_time()
            plain(loaded, questions, size)
            cores.setdefault(f"generate, batch {size}", []).append(
                (time.process_time() - worked) / len(questions)
            )
            rates.setdefault(f"generate, batch {size}", []).append(
                len(questions) / (clock.read() - began)
            )
            print(
                f"round {turn}: batch {size} {rates[f'generate, batch {size}'][-1]:.2f}/s",
                flush=True,
            )
    middle = {method: statistics.median(rounds) for method, rounds in rates.items()}
    best = max((method for method in middle if method != "HQM"), key=lambda method: middle[method])
    last = runs[-1]
    model_seconds = sum(last["spent"].values())
    return {
        "weights": weights,
        "questions_per_second": {
            method: {"median": middle[method], "rounds": rounds} for method, rounds in rates.items()
        },
        "times_batch_1": middle["HQM"] / middle["generate, batch 1"],
        "best_batch": best,
        "times_best_batch": middle["HQM"] / middle[best],
        "processor_seconds_a_question": {
            method: statistics.median(rounds) for method, rounds in cores.items()
        },
        "same_greedy_answers": equal_shares,
        "seconds": last,
        "outside_of_the_model": {
            "share": 1 - model_seconds / last["seconds"],
            "milliseconds_a_question": 1000 * (last["seconds"] - model_seconds) / last["asked"],
        },
    }


if __name__ == "__main__":
    main()
