"""MMMU-Pro and MathVista: every released figure, by the released readers."""

import gzip
import json
from pathlib import Path

import pytest

import hqm
from hqm import Benchmark, Recording, Response
from hqm.scoring.parsers import STRICT
from hqm.signature import scoring_label

RIGHT = {
    # right answers that `parse_multi_choice_response` of MMMU bb0b95a reads in each released file
    "InternVL2-40B": (598, 848, 496),
    "InternVL2-8B": (560, 747, 336),
    "InternVL2-Llama3-76B": (632, 896, 451),
    "gemini-1.5-pro-exp-0801": (707, 932, 702),
    "gpt-4o-2024-08-06": (695, 902, 725),
    "llava-onevision-qwen2-72b-vo-hf": (660, 907, 437),
    "llava-onevision-qwen2-7b-vo-hf": (518, 756, 275),
}
REASONED = {
    "gemini-1.5-pro-exp-0801 four_cot": 1039,
    "llava-onevision-qwen2-72b-vo-hf cot": 650,
    "llava-onevision-qwen2-72b-vo-hf four_cot": 887,
    "llava-onevision-qwen2-72b-vo-hf parallel_cot": 412,
    "llava-onevision-qwen2-7b-vo-hf cot": 509,
    "llava-onevision-qwen2-7b-vo-hf four_cot": 730,
}


def right_answers(benchmark: Benchmark, recording: Recording) -> int:
    forms = (benchmark.original, benchmark.parallel_form, *benchmark.further_forms)
    (form,) = [form for form in forms if form.name == recording.form]
    verdicts = [benchmark.verdict(form.by_id[key], a) for key, a in recording.answers.items()]
    return int(sum(verdict.value or 0 for verdict in verdicts))


@pytest.fixture(scope="module")
def mmmu_pro(data: Path) -> Benchmark:
    return hqm.load("mmmu_pro", data=str(data))


def test_the_right_answers_of_each_released_file_are_the_releases(
    mmmu_pro: Benchmark, data: Path
) -> None:
    recordings = mmmu_pro.recordings(data / "mmmu_pro" / "answers")
    assert recordings is not None
    counted = {f"{r.respondent} {r.form}": right_answers(mmmu_pro, r) for r in recordings}
    direct = {
        f"{name} {form}": count
        for name, counts in RIGHT.items()
        for form, count in zip(("original", "four", "parallel"), counts, strict=True)
    }
    assert counted == direct | REASONED


def test_the_three_wordings_share_their_ids_and_not_their_options(mmmu_pro: Benchmark) -> None:
    four = next(form for form in mmmu_pro.further_forms if form.name == "four")
    assert set(four.by_id) == set(mmmu_pro.original.by_id) == set(mmmu_pro.parallel_form.by_id)
    first = mmmu_pro.original.items[0]
    assert (len(first.options), first.target) == (10, "B")
    assert len(four.by_id[first.id].options) == 4
    counts = {finding.name: finding.count for finding in mmmu_pro.check(mmmu_pro.original)}
    assert counts["equal-options"] > 0


def test_an_unread_answer_is_wrong_in_the_release_and_unread_in_the_paper(
    mmmu_pro: Benchmark, data: Path
) -> None:
    item = mmmu_pro.original.items[0]
    unread = Response("the")
    official = mmmu_pro.verdict(item, unread)
    assert (official.value, official.state) == (0.0, "unparsed")
    paper = hqm.load("mmmu_pro", data=str(data), scoring="paper")
    assert paper.scorer == f"{scoring_label('paper', 'mmmu_pro')}({STRICT.label})"
    assert not paper.verdict(item, unread).scored


def test_mathvista_repeats_the_verdict_of_every_released_answer(data: Path) -> None:
    benchmark = hqm.load("mathvista", data=str(data))
    folder = data / "mathvista" / "answers"
    recordings = benchmark.recordings(folder)
    assert recordings is not None
    assert len(recordings) == 23
    assert {(recording.form, recording.run) for recording in recordings} == {("original", 0)}
    assert sum(item.task == "choice" for item in benchmark.original.items) == 540
    for recording in recordings:
        lines = gzip.decompress((folder / f"{recording.respondent}.jsonl.gz").read_bytes())
        rows = map(json.loads, lines.splitlines())
        released = {row["pid"]: bool(row["true_false"]) for row in rows}
        scored = {
            key: bool(benchmark.score(benchmark.original.by_id[key], answer).value)
            for key, answer in recording.answers.items()
        }
        assert scored == released, recording.respondent


def test_a_packed_file_is_read_as_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n{"a": 2}\n'))
    assert hqm.read_records(tmp_path / "rows.jsonl.gz") == [{"a": 1}, {"a": 2}]
    assert hqm.read_records(tmp_path / "rows.jsonl") == [{"a": 1}, {"a": 2}]
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 99)[:20])
    with pytest.raises(hqm.DataError):
        hqm.read_records(tmp_path / "cut.jsonl.gz")
