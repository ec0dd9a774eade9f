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
    chair = {}
    for recording in recordings:
        form = benchmark.original
        tallies = [
            benchmark.verdict(form.by_id[key], answer).tally
            for key, answer in recording.answers.items()
        ]
        chair[recording.respondent] = (
            sum(t["hallucinated"] for t in tallies) / sum(t["mentioned"] for t in tallies),
            sum(t["hallucinated"] > 0 for t in tallies) / len(tallies),
        )
    return chair


def test_marines_captions_have_the_figures_of_their_release(data: Path) -> None:
    benchmark = hqm.load("coco_chair", data=str(data))
    chair = scores(benchmark, data / "marine")
    # marine_eval.jsonl of the release; its own lemmatiser finds one more mention in a thousand
    assert chair["marine_g0.0"] == pytest.approx((0.0457, 0.088), abs=0.0001)
    assert chair["marine_g0.7"] == pytest.approx((0.0257, 0.050), abs=0.0001)
    assert benchmark.original.items[0].prompt == "Generate a short caption of the image."


def test_captions_asked_otherwise_are_a_wording_named_by_the_instruction(data: Path) -> None:
    benchmark = hqm.load("coco_chair", data=str(data))
    chair = scores(benchmark, data / "less_is_more")
    # the orders of FIELD's count by hand: LLaVA-1.5-7B, VCD, OPERA, OPERA-fast, LLaVA-1.5-13B
    systems = ["r1-llava1.5-7b", "r2-vcd", "r3-opera", "r4-opera-fast", "r7-llava1.5-13b"]
    chair_rates = [round(chair[name][0], 3) for name in systems]
    assert chair_rates == pytest.approx([0.154, 0.149, 0.147, 0.145, 0.131], abs=0.0011)
    assert benchmark.original.items[0].prompt == "Please describe this image in detail."


def test_samples_of_a_system_are_joined_where_all_systems_captioned(data: Path) -> None:
    """33 files of HALC are nine systems; counted from the files: 610 pictures are in common."""
    benchmark = hqm.load("coco_chair", data=str(data))
    recordings = benchmark.recordings(data / "halc")
    assert recordings is not None
    assert len({recording.respondent for recording in recordings}) == len(recordings) == 9
    assert {len(recording.answers) for recording in recordings} == {610}
    assert len(benchmark.original) == 610
    (finding,) = (f for f in benchmark.check(benchmark.original) if f.name == "partly-captioned")
    assert finding.count == 2452 - 610


def test_answers_find_their_questions_beside_another_file(data: Path, tmp_path: Path) -> None:
    """LLaVA-1.5-13B's answers name ids only; the questions lie beside those of LLaVA-1.5-7B."""
    files = [data / "pope_answers", data / "logs" / "llava" / "llava-v1.5-7b_pope.jsonl"]
    evidence = hqm.evidence_of("pope", files, data=data, metrics="accuracy")
    frame = evidence.to_frame()
    large = frame[frame["respondent"].str.endswith("13b")].set_index("item")["score"]
    # as data/SOURCES.md counted them: .8801 random (of its 2,910), .8743 popular, .8550 adversarial
    parts = {item.id: item.part for item in evidence.benchmark.original.items}
    means = large.groupby(parts.get).mean().round(4).to_dict()
    assert means == {"coco_random": 0.8801, "coco_popular": 0.8743, "coco_adversarial": 0.8550}


def test_a_third_instruction_is_refused(tmp_path: Path, data: Path) -> None:
    benchmark = hqm.load("coco_chair", data=str(data))
    key = benchmark.original.items[0].id
    for i, prompt in enumerate(("One.", "Two.", "Three.")):
        row = {"image_id": int(key), "caption": "A dog.", "prompt": prompt}
        packed = gzip.compress(json.dumps(row).encode())
        (tmp_path / f"m{i}.jsonl.gz").write_bytes(packed)
    with pytest.raises(hqm.AnswerError, match="Three"):
        benchmark.recordings(tmp_path)
