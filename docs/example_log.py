"""Make the log that ships with HQM (`hqm audit example`): 200 questions of `shapes_yesno`, answered
by six embedded models, in the format of lmms-eval.

    hqm audit shapes_yesno --no-report --store out/example.sqlite && python docs/example_log.py out/example.sqlite

Every fifth question is taken, in the order of the benchmark. The scores are HQM's, and 0 for an answer that cannot be read, as lmms-eval's are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import hqm
from hqm.benchmark.registry import example_folder

MODELS = ("literal", "steady", "dim", "small", "noisy", "yes-sayer")
N_ITEMS = 200
TASK = "shapes_yesno_200"


_ANSWERS = """
SELECT asks.prompt, asks.image, answers.text FROM answers
JOIN asks ON asks.id = answers.ask JOIN respondents ON respondents.id = answers.respondent
WHERE respondents.name = ? AND answers.run = 0 AND answers.state = 'ok'
"""


def write_log(folder: Path, model: str, store: hqm.Store) -> int:
    """Write the samples of one model as lmms-eval names them; return their bytes."""
    benchmark = hqm.load("shapes_yesno")
    answers = {
        (prompt, image): text
        for prompt, image, text in store.select(_ANSWERS, f"hf/shapes:{model}")
    }
    lines = []
    for number, item in enumerate(benchmark.original.items[::5][:N_ITEMS]):
        text = answers[item.prompt, item.image]
        record = {
            "doc_id": number,
            "doc": {"image": item.image, "question": item.prompt, "category": item.type},
            "target": item.target,
            "filtered_resps": [text],
            "accuracy": benchmark.verdict(item, hqm.Response(text)).value or 0.0,
        }
        lines.append(json.dumps(record, separators=(",", ":")))
    path = folder / model / f"20261128_120000_samples_{TASK}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    scores = [json.loads(line)["accuracy"] for line in lines]
    results = {
        "model_name": model,
        "results": {TASK: {"accuracy,none": sum(scores) / len(scores)}},
        "configs": {TASK: {"generation_kwargs": {"temperature": 1.0}}},
        "higher_is_better": {TASK: {"accuracy": True}},
    }
    path.with_name("20261128_120000_results.json").write_text(
        json.dumps(results, indent=1) + "\n", encoding="utf-8"
    )
    return path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with hqm.Store(Path(sys.argv[1])) as opened:
        for name in MODELS:
            print(name, write_log(example_folder(), name, opened))
