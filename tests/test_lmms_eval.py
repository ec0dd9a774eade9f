"""lmms-eval for real: it asks HQM's forms, its own tasks score and write real answers, and HQM
reads what it wrote.

`HQM_LMMS_EVAL` names the Python of an environment that has it. Without most of its 60 dependencies
it runs too: `pip install --no-deps lmms-eval decord qwen-vl-utils` beside HQM's extra `local`, then
`pip install datasets accelerate evaluate loguru sacrebleu pytablewriter jsonlines tenacity
python-dotenv tiktoken protobuf sqlitedict tqdm-multiprocess einops zss sympy latex2sympy2
math-verify nltk spacy`.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm.administration.stored_answers import respondents_in
from hqm.imports.log_answers import take_logs
from hqm.respondents.hf_loading import find_model
from tests.conftest import Run
from tests.messages import tells

PYTHON = os.environ.get("HQM_LMMS_EVAL", "")
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="HQM_LMMS_EVAL names the Python of an environment with lmms-eval"
)

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}


def tool(*arguments: object, home: Path, **environment: str) -> None:
    """Run the tool's Python; what it says is shown where it fails."""
    variables = {**os.environ, **OFFLINE, "HF_HOME": str(home / "hub"), **environment}
    process = subprocess.run(
        [PYTHON, *map(str, arguments)],
        cwd=home,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert process.returncode == 0, f"{process.stdout[-3000:]}\n{process.stderr[-3000:]}"


def answers(store: Path) -> dict[str, list[str]]:
    """Form -> the answers of the one respondent in a store, item by item."""
    benchmark = hqm.load("shapes_yesno")
    with hqm.Store(store, readonly=True) as opened:
        asks = hqm.Asks(opened)
        (respondent,) = respondents_in(asks, benchmark)
        recorded = hqm.Answers(asks)
        return {
            form.name: [
                r.text.strip()
                for r in recorded.responses(benchmark, form, respondent, 0)
                if r is not None
            ]
            for form in (benchmark.original, benchmark.parallel_form)
        }


def test_lmms_eval_asks_both_forms_and_its_log_comes_back_as_hqm_asks_them(
    tmp_path: Path, run: Run
) -> None:
    assert (
        run(
            "export",
            "shapes_yesno",
            "--to",
            "lmms-eval",
            "--out",
            tmp_path / "tasks",
            "--limit",
            12,
        )[0]
        == 0
    )
    model = find_model("shapes:steady")
    tool(
        "-m",
        "lmms_eval",
        "--verbosity",
        "DEBUG",  # otherwise the tool ends with 0 where it failed
        "--model",
        "llava_hf",
        "--batch_size",
        1,
        "--device",
        "cpu",
        "--log_samples",
        "--model_args",
        f"pretrained={model},device_map=cpu,attn_implementation=eager",
        "--tasks",
        "shapes_yesno_original,shapes_yesno_parallel",
        "--include_path",
        tmp_path / "tasks",
        "--gen_kwargs",
        "temperature=0,do_sample=False",
        "--output_path",
        tmp_path / "logs",
        home=tmp_path,
    )
    theirs = tmp_path / "theirs.sqlite"
    status, output, err = run(
        "import", tmp_path / "logs", "--benchmark", "shapes_yesno", "--store", theirs
    )
    assert status == 0, err
    for form in ("original", "parallel"):
        assert tells(output, "import.matched", form=form, run=0, n=12, rows=12, how="12 by id")
    assert output.count("0 answers differ") == 2
    # the same model, asked by HQM: the same words, so the same scores
    ours = tmp_path / "ours.sqlite"
    command = (
        "audit",
        "--no-report",
        "shapes_yesno",
        "-r",
        "hf/shapes:steady",
        "--temperature",
        0,
        "--runs",
        1,
        "--limit",
        12,
        "-q",
    )
    status, _, err = run(*command, "--store", ours)
    assert status == 0, err
    assert answers(theirs) == answers(ours)
    assert [len(texts) for texts in answers(theirs).values()] == [12, 12]


WRITER = '''
import json, sys
from pathlib import Path
from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

def write(task, docs, answers, target, ask, process, out):
    """What the evaluator hands to its writer, from a task's own functions."""
    tracker = EvaluationTracker(output_path=out)
    tracker.general_config_tracker.model_name_sanitized = "lab__model"
    tracker.date_id = "20260101_000000"
    rows = []
    for i, (doc, answer) in enumerate(zip(docs, answers, strict=True)):
        rows.append({
            "doc_id": i, "doc": doc, "target": doc[target], "arguments": (ask(doc),), "resps": [[answer]],
            "filtered_resps": [answer], "token_counts": [{"output_tokens": len(answer.split())}], "doc_hash": str(i),
            **process(doc, [answer]),
        })
    tracker.save_results_samples(task, rows)

given = json.loads(Path(sys.argv[1]).read_text())
'''

HALLUSION = """
from lmms_eval.tasks.hallusion_bench.evaluate_hb import hb_doc_to_text, hb_process_results
docs = [{key: value for key, value in row.items() if key != "model_prediction"} for row in given]
answers = [row["model_prediction"] for row in given]
write("hallusion_bench_image", docs, answers, "gt_answer_details", hb_doc_to_text, hb_process_results, sys.argv[2])
"""

AMBER = """
import spacy
from lmms_eval.tasks.amber_g import utils
# the models of NLTK and spaCy are downloads of their own; which words count as nouns is not what is tried here
utils.extract_nouns = lambda text: [word.strip(".,") for word in text.lower().split()]
utils._NLP = spacy.blank("en")
docs, answers = [row["doc"] for row in given], [row["answer"] for row in given]
write("amber_g", docs, answers, "truth", utils.amber_g_doc_to_text, utils.amber_g_process_result, sys.argv[2])
"""


def write_with_tool(code: str, rows: list[dict[str, Any]], home: Path, **environment: str) -> Path:
    """The folder that the tool's writer made of these rows."""
    (home / "script.py").write_text(WRITER + code)
    (home / "rows.json").write_text(json.dumps(rows))
    tool("script.py", "rows.json", "logs", home=home, **environment)
    (folder,) = (home / "logs").iterdir()
    return folder


@pytest.mark.data
def test_the_released_answers_to_hallusion_bench_come_back_through_the_tools_task(
    data: Path, tmp_path: Path
) -> None:
    """The 951 questions with a picture, as `hallusion_bench_image` keeps them; 109 of them stand in
    the release's sample of answers.
    """
    location_fields = (
        "category",
        "subcategory",
        "visual_input",
        "set_id",
        "figure_id",
        "question_id",
    )
    sample = json.loads(
        (data / "hallusion_bench" / "HallusionBench_result_sample.json").read_text()
    )
    released = {
        tuple(str(row[key]) for key in location_fields): row["model_prediction"] for row in sample
    }
    questions = json.loads((data / "hallusion_bench" / "HallusionBench.json").read_text())
    rows = [
        {
            **row,
            "model_prediction": released.get(
                tuple(str(row[key]) for key in location_fields), f"No, not at all ({i})."
            ),
        }
        for i, row in enumerate(questions)
        if str(row["visual_input"]) != "0"
    ]
    assert len(rows) == 951
    assert sum(row["model_prediction"] in released.values() for row in rows) == 109
    folder = write_with_tool(HALLUSION, rows, tmp_path)
    benchmark = hqm.load("hallusion_bench", data=data, mode="rule")
    import_result = take_logs({"original": benchmark.original}, [folder])
    (recording,) = import_result.recordings
    assert import_result.matchings[0].matched == import_result.matchings[0].rows == 951
    assert import_result.matchings[0].cue_counts == {"id": 951}
    release = tmp_path / "release.json"
    release.write_text(json.dumps(rows))
    _, official = benchmark.read_answers(release, benchmark.original)
    assert {key: answer.text.strip() for key, answer in recording.answers.items()} == {
        key: answer.text.strip() for key, answer in official.items()
    }


@pytest.mark.data
def test_captions_of_amber_come_back_through_the_tools_task(data: Path, tmp_path: Path) -> None:
    """Its rows say nothing of the picture, so the row number decides; 1,004 captions that differ
    show that it does.
    """
    (tmp_path / "amber").mkdir()
    (tmp_path / "amber" / "metadata").symlink_to(data / "amber")
    annotations = [
        row
        for row in json.loads((data / "amber" / "annotations.json").read_text())
        if row["type"] == "generative"
    ]
    rows = [
        {
            "doc": {
                "question_id": row["id"],
                "truth": row["truth"],
                "hallu": row["hallu"],
                "task_type": "generative",
            },
            "answer": (
                f"Picture {row['id']} has {', '.join(row['truth'])} and"
                f" {' and '.join(row['hallu'][:1])}."
            ),
        }
        for row in annotations
    ]
    assert len(rows) == 1004
    folder = write_with_tool(AMBER, rows, tmp_path, AMBER_BASE_DIR=str(tmp_path / "amber"))
    benchmark = hqm.load("amber_g", data=data)
    import_result = take_logs({"original": benchmark.original}, [folder])
    (recording,) = import_result.recordings
    assert import_result.matchings[0].cue_counts == {"row number": 1004}
    release = tmp_path / "release.json"
    release.write_text(
        json.dumps([{"id": row["doc"]["question_id"], "response": row["answer"]} for row in rows])
    )
    _, official = benchmark.read_answers(release, benchmark.original)
    assert {key: answer.text for key, answer in recording.answers.items()} == {
        key: answer.text for key, answer in official.items()
    }
    assert len(official) == 1004
