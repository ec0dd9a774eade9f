"""Captions of other papers, asked with other instructions and about other pictures."""

import gzip
import json
from pathlib import Path

import pytest

import hqm
from hqm import Benchmark


def scores(benchmark: Benchmark, folder: Path) -> dict[str, tuple[float, float]]:
    """Respondent -> CHAIRi and CHAIRs of its captions."""
    recordings = benchmark.recordings(folder)
    assert recordings is not None
    made = {}
    for recording in recordings:
        form = benchmark.original
        tallies = [
            benchmark.verdict(form.by_id[key], answer).tally
            for key, answer in recording.answers.items()
        ]
        made[recording.respondent] = (
            sum(t["hallucinated"] for t in tallies) / sum(t["mentioned"] for t in tallies),
            sum(t["hallucinated"] > 0 for t in tallies) / len(tallies),
        )
    return made


def test_marines_captions_have_the_figures_of_their_release(data: Path) -> None:
    benchmark = hqm.load("coco_chair", data=str(data))
    made = scores(benchmark, data / "marine")
    # marine_eval.jsonl of the release; its own lemmatiser finds one more mention in a thousand
    assert made["marine_g0.0"] == pytest.approx((0.0457, 0.088), abs=0.0001)
    assert made["marine_g0.7"] == pytest.approx((0.0257, 0.050), abs=0.0001)
    assert benchmark.original.items[0].prompt == "Generate a short caption of the image."


def test_captions_asked_otherwise_are_a_wording_named_by_the_instruction(data: Path) -> None:
    benchmark = hqm.load("coco_chair", data=str(data))
    made = scores(benchmark, data / "less_is_more")
    # the orders of FIELD's count by hand: LLaVA-1.5-7B, VCD, OPERA, OPERA-fast, LLaVA-1.5-13B
    named = ["r1-llava1.5-7b", "r2-vcd", "r3-opera", "r4-opera-fast", "r7-llava1.5-13b"]
    shown = [round(made[name][0], 3) for name in named]
    assert shown == pytest.approx([0.154, 0.149, 0.147, 0.145, 0.131], abs=0.0011)
    assert benchmark.original.items[0].prompt == "Please describe this image in detail."


def test_a_third_instruction_is_refused(tmp_path: Path, data: Path) -> None:
    benchmark = hqm.load("coco_chair", data=str(data))
    key = benchmark.original.items[0].id
    for i, prompt in enumerate(("One.", "Two.", "Three.")):
        row = {"image_id": int(key), "caption": "A dog.", "prompt": prompt}
        packed = gzip.compress(json.dumps(row).encode())
        (tmp_path / f"m{i}.jsonl.gz").write_bytes(packed)
    with pytest.raises(hqm.AnswerError, match="Three"):
        benchmark.recordings(tmp_path)
