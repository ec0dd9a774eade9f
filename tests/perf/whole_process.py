"""The whole of a process: HQM, lmms-eval and a plain script each ask one embedded model yes/no
questions, from start to end.

    python tests/perf/whole_process.py --environment PYTHON [--items 600] [--batches 1 16] [--rounds 3] [--markdown FILE]

PYTHON is that of an environment with lmms-eval (`tests/test_lmms_eval.py` says how to make one).
Each way is a process of its own, and the ways take turns: start, imports, loading the model,
opening the pictures, greedy answers, writing them. lmms-eval asks the task that `hqm export --to
lmms-eval` wrote; the plain script loads the model and calls `generate`, batch by batch, and nothing
else. Printed are the medians of the rounds, seconds and processor seconds, how many times as long
as HQM each way took, and how many of the answers are the same as HQM's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hqm.administration.stored_answers import respondents_in

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil

import hqm
from hqm.respondents.hf_loading import find_model

BENCHMARK, MODEL = "shapes_yesno", "shapes:steady"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
PLAIN = """
import json, sys
import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor
model, questions, size, most, out = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
processor = AutoProcessor.from_pretrained(model)
processor.tokenizer.padding_side = "left"
model = AutoModelForImageTextToText.from_pretrained(model).eval()
answers = []
for start in range(0, len(questions), size):
    part = questions[start : start + size]
    texts = [
        processor.apply_chat_template(
            [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}], add_generation_prompt=True
        )
        for _, text in part
    ]
    images = [Image.open(path).convert("RGB") for path, _ in part]
    inputs = processor(images=images, text=texts, padding=True, return_tensors="pt", add_special_tokens=False)
    with torch.inference_mode():
        tokens = model.generate(**inputs, do_sample=False, max_new_tokens=most)
    answers += processor.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
json.dump([answer.strip() for answer in answers], open(out, "w"))
"""


@dataclass(frozen=True)
class Run:
    """What one process took, and the answers that it wrote."""

    wall: float
    processor: float
    answers: list[str]


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a process to its end: its seconds, and the processor seconds of it and of all that it
    started, looked up 20 times a second.
    """
    began = time.perf_counter()
    worked: dict[int, float] = {}
    with (folder / "log").open("wb") as log:
        environment = {**os.environ, **OFFLINE, "HF_HOME": str(folder / "hub")}
        process = psutil.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        while True:
            with contextlib.suppress(psutil.NoSuchProcess):
                for member in (process, *process.children(recursive=True)):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        times = member.cpu_times()
                        worked[member.pid] = times.user + times.system
            with contextlib.suppress(psutil.TimeoutExpired):
                status = process.wait(timeout=0.05)
                break
    if status:
        sys.exit(f"{' '.join(command)[:200]}\n{(folder / 'log').read_text()[-3000:]}")
    return time.perf_counter() - began, sum(worked.values())


def of_hqm(items: int, folder: Path) -> Run:
    """`hqm audit --no-report` into an empty store."""
    store = folder / "store.sqlite"
    words = [
        "audit",
        "--no-report",
        BENCHMARK,
        "--respondent",
        f"hf/{MODEL}",
        "--limit",
        str(items),
        "--forms",
        "original",
        "--runs",
        "1",
    ]
    took = timed(
        [sys.executable, "-m", "hqm", *words, "--temperature", "0", "--store", str(store)], folder
    )
    benchmark = hqm.load(BENCHMARK)
    with hqm.Store(store, readonly=True) as opened:
        asks = hqm.Asks(opened)
        (respondent,) = respondents_in(asks, benchmark)
        responses = hqm.Answers(asks).responses(benchmark, benchmark.original, respondent, 0)
    return Run(*took, [response.text.strip() for response in responses if response is not None])


def of_lmms_eval(python: str, tasks: Path, folder: Path) -> Run:
    """`lmms_eval` with one task and the same model; its class for LLaVA of transformers refuses
    batches of more than 1.
    """
    words = [
        "--model",
        "llava_hf",
        "--batch_size",
        "1",
        "--device",
        "cpu",
        "--log_samples",
        "--model_args",
        f"pretrained={find_model(MODEL)},device_map=cpu,attn_implementation=sdpa",
        "--tasks",
        f"{BENCHMARK}_original",
        "--include_path",
        str(tasks),
        "--gen_kwargs",
        "temperature=0,do_sample=False",
        "--output_path",
        str(folder / "logs"),
    ]
    took = timed([python, "-m", "lmms_eval", *words], folder)
    logs = list((folder / "logs").rglob("*samples*.jsonl"))
    if len(logs) != 1:  # it ends with 0 where it failed
        sys.exit((folder / "log").read_text()[-3000:])
    rows = sorted(
        map(json.loads, logs[0].read_text().splitlines()), key=lambda row: int(row["doc_id"])
    )
    return Run(*took, [str(row["filtered_resps"]).strip() for row in rows])


def of_plain(items: int, size: int, folder: Path) -> Run:
    """A script that does nothing but load, ask and write."""
    benchmark = hqm.load(BENCHMARK)
    sampled_items = benchmark.original.items[:items]
    benchmark.prepare_images(benchmark.original)
    questions = [
        [str(benchmark.pictures.path(item.image or "")), item.prompt] for item in sampled_items
    ]
    (folder / "questions.json").write_text(json.dumps(questions))
    (folder / "plain.py").write_text(PLAIN)
    model = str(find_model(MODEL))
    took = timed(
        [sys.executable, "plain.py", model, "questions.json", str(size), "16", "answers.json"],
        folder,
    )
    return Run(*took, json.loads((folder / "answers.json").read_text()))


def main() -> None:
    """Print what each way took, and the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--environment", metavar="PYTHON", help="the Python of an environment with lmms-eval"
    )
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    runs: dict[str, list[Run]] = {}
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        if options.environment:
            words = [
                "export",
                BENCHMARK,
                "--to",
                "lmms-eval",
                "--out",
                str(home / "tasks"),
                "--limit",
                str(options.items),
            ]
            subprocess.run(
                [sys.executable, "-m", "hqm", *words], check=True, stdout=subprocess.DEVNULL
            )
        for number in range(options.rounds):

            def run_folder(method: str, number: int = number) -> Path:
                folder = home / f"{method}-{number}"
                folder.mkdir()
                return folder

            runs.setdefault("HQM", []).append(of_hqm(options.items, run_folder("hqm")))
            for size in options.batches:
                runs.setdefault(f"plain `generate`, batch {size}", []).append(
                    of_plain(options.items, size, run_folder(f"plain{size}"))
                )
            if options.environment:
                runs.setdefault("lmms-eval, batch 1", []).append(
                    of_lmms_eval(options.environment, home / "tasks", run_folder("lmms"))
                )
    ours = runs["HQM"]
    wall, processor = (
        statistics.median(getattr(run, key) for run in ours) for key in ("wall", "processor")
    )
    lines = [
        (
            f"{options.items} yes/no questions, greedy, {os.cpu_count()} processors, load"
            f" {before:.1f} before and {os.getloadavg()[0]:.1f} after; medians of {options.rounds}."
        ),
        "",
        (
            "| whole process | s | times as long as HQM | processor s | times as long as HQM |"
            " answers equal to HQM's |"
        ),
        "|---|---|---|---|---|---|",
    ]
    for method, method_runs in runs.items():
        seconds = statistics.median(run.wall for run in method_runs)
        worked = statistics.median(run.processor for run in method_runs)
        equal = sum(a == b for a, b in zip(method_runs[0].answers, ours[0].answers, strict=True))
        times, times_worked = (
            ("", "") if method == "HQM" else (f"{seconds / wall:.2f}", f"{worked / processor:.2f}")
        )
        lines.append(
            f"| {method} | {seconds:.1f} | {times} | {worked:.1f} | {times_worked} | {equal} of"
            f" {options.items} |"
        )
    print("\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
