"""vLLM with prefix caching at the requests of tests/perf/large.py, in an environment with vLLM.

    python tests/perf/respondents.py --shape 7b --device cuda --models llava --keep /tmp/7b    # with HQM
    python tests/perf/large_vllm.py /tmp/7b/llava                                              # with vLLM

The same model's shape with random weights, the same pictures and questions, all given at once in
the order of the benchmark. Pictures are opened within the time. An answer is two tokens long, as
HQM's are; a caption's length is drawn evenly from 26 to 128, .6 of the longest on average. Starting
takes a time of its own, which is printed. The first of the rounds meets what no round has met.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np


def build_prompts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests as vLLM takes them, pictures opened."""
    from PIL import Image

    prompts = []
    for row in rows:
        with Image.open(row["image"]) as picture:
            prompts.append(
                {"prompt": row["prompt"], "multi_modal_data": {"image": picture.convert("RGB")}}
            )
    return prompts


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="what --keep left of a model")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    # not a dependency: this script runs in an environment of its own
    from vllm import LLM, SamplingParams

    began = time.perf_counter()
    llm = LLM(
        model=str(options.folder / "model"),
        load_format="dummy",
        dtype="bfloat16",
        max_model_len=1536,
        enable_prefix_caching=True,
        limit_mm_per_prompt={"image": 1},
        gpu_memory_utilization=0.85,
        seed=0,
    )
    print(f"started in {time.perf_counter() - began:.0f} s", flush=True)
    rng = np.random.default_rng(1)
    for file in sorted(options.folder.glob("*/requests.json")):
        rows = json.loads(file.read_text())
        for turn in range(options.rounds):
            llm.reset_prefix_cache()
            sampling = [
                SamplingParams(
                    temperature=1.0,
                    max_tokens=row["tokens"]
                    if row["tokens"] < 26
                    else int(rng.integers(26, row["tokens"] + 1)),
                    ignore_eos=True,
                    detokenize=False,
                )
                for row in rows
            ]
            began = time.perf_counter()
            answers = llm.generate(build_prompts(rows), sampling, use_tqdm=False)
            seconds = time.perf_counter() - began
            read = sum(len(answer.prompt_token_ids) for answer in answers)
            cached = sum(answer.num_cached_tokens or 0 for answer in answers)
            print(
                f"{file.parent.name} round {turn}: {len(rows) / seconds:.1f} answers/s,"
                f" {cached / read:.0%} of the prompts' tokens from the cache",
                flush=True,
            )


if __name__ == "__main__":
    main()
