"""The first rows of the index: answers that were released, audited by the command that a row shows.

    HQM_DATA=data python docs/index_rows.py out/index [ROW ...] [--clones FOLDER]

Rows of `ROWS` read released data below HQM_DATA; those of `PUBLIC` read clones of public
repositories below FOLDER, each at the commit that it names:

    git clone https://github.com/OWNER/NAME clones/NAME
    git -C clones/NAME checkout COMMIT

Rows whose answers are not there are left out, and named. `shapes` asks ten tiny models. The rows
are also the first page of the documentation, and the table of what can rank models: the new ones
replace those of docs/make/index.json, and the others stay. Pictures made in one run share an axis:
make all rows together before a release.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

from hqm.reports.pages.phrases import number_word

ROOT = Path(__file__).resolve().parent.parent
INDEX = Path(__file__).parent / "make" / "index.json"

CHAIR = "hqm audit coco_chair --recorded"
LABELS = "$HQM_DATA/faithscore/annotation.jsonl"
ROWS = {
    "less-is-more": f"{CHAIR} $HQM_DATA/less_is_more",
    "halc": f"{CHAIR} $HQM_DATA/halc",
    "marine": f"{CHAIR} $HQM_DATA/marine",
    "two-instructions": f"{CHAIR} $HQM_DATA/pope/captions",
    "pope": "hqm audit pope --part coco_adversarial --recorded $HQM_DATA/pope_answers"
    " --recorded $HQM_DATA/logs/llava --key $HQM_DATA/pope/repope",
    "hallusion-bench": "hqm audit hallusion_bench --set mode=rule --recorded"
    " $HQM_DATA/hallusion_bench/HallusionBench_result_sample.json",
    "faithscore": f"hqm audit faithscore --recorded {LABELS} --criterion {LABELS}",
    "mathvista": "hqm audit mathvista --recorded $HQM_DATA/mathvista/answers",
    "mm-vet": "hqm audit $HQM_DATA/mm_vet",
    "mmmu-pro": "hqm audit mmmu_pro --recorded $HQM_DATA/mmmu_pro/answers",
    "hal-eval-table": "hqm table tests/tables/hal_eval_table1.csv",
    "hqm-table": "hqm table docs/audits/hqm_table_2.csv",
    "shapes": "hqm audit shapes",
}
"""Row -> its command."""


@dataclass(frozen=True)
class Source:
    """Answers in a public repository."""

    repository: str
    """Its owner and name on GitHub."""
    commit: str
    arguments: str
    """What stands behind `hqm audit`; `CLONE` is the clone's folder."""

    @property
    def command(self) -> str:
        """The command as the row shows it."""
        clone = f"clones/{self.repository.partition('/')[2]}"
        return f"hqm audit {self.arguments.replace('CLONE', clone)}"


_WILDBENCH = "CLONE/eval_results/v2.0625/score.v2/eval=gpt-4o-2024-05-13"
_ZERO_EVAL = ("WildEval/ZeroEval", "8c1485edf12c6efb5f69135a562927c5ad484059")
_LLM_DEBUGGER = ("FloridSleeves/LLMDebugger", "49ac191f181d47911cf38e5b9944fbbe6d4a6e60")
_LLMBAR = "CLONE/Dataset/LLMBar/Natural/evaluators/*"
PUBLIC = {
    "logicvista": Source(
        "Yijia-Xiao/LogicVista",
        "e5795f17189ce1243231250af7d8c112ae2c5a57",
        "CLONE/eval/results --set title=LogicVista",
    ),
    "blink": Source(
        "zeyofu/BLINK_Benchmark",
        "2d6a779be4aa1ad0d38d7aa539bcb43b6dd81592",
        "CLONE/eval/saved_val_predictions CLONE/eval/val_answers.json --set title=BLINK",
    ),
    "math-vision": Source(
        "mathllm/MATH-V",
        "a1f5cc3add200c0cd080fad463e500f44ef1fb41",
        "CLONE/outputs/open-source CLONE/outputs/closed-source/Gemini"
        " CLONE/outputs/closed-source/Qwen --set title=MATH-Vision",
    ),
    "tempcompass": Source(
        "llyx97/TempCompass",
        "e1b463166400633e6061962d890a9ae85db29f70",
        "CLONE/predictions/*/multi-choice.json --columns item=path,image=key"
        " --set 'title=TempCompass, multiple choice'",
    ),
    "mme": Source(
        "Haoming2000/VLM-Benchmarks",
        "6d394c981c5f7300c12905b2d5bbb14898399730",
        "CLONE/playground/data/eval/MME/eval_tool/LaVIN"
        " CLONE/playground/data/eval/MME/eval_tool/answers --set title=MME",
    ),
    "chartqa": Source(
        "kuotunyu/qwen3-vl-chartqa",
        "912396ce5804aefbf441a1543c4f17b37dd41a39",
        "CLONE/assets/eval/per_item_*.json CLONE/assets/eval_quant/per_item_*_n1250.json"
        " --columns item=idx,category=split,score=correct --set title=ChartQA",
    ),
    "mmmu": Source(
        "MMMU-Benchmark/MMMU",
        "bb0b95a945998d91dfef37e969e07d49d1139438",
        "CLONE/mmmu/example_outputs/*/total_val_output.json CLONE/mmmu/answer_dict_val.json"
        " --set title=MMMU",
    ),
    "financebench": Source(
        "patronus-ai/financebench",
        "cc39aeb4afdf33909ee1412188bf89035950c2eb",
        "CLONE/results --columns item=financebench_id,target=gold_answer,score=label"
        " --set title=FinanceBench",
    ),
    "financemath": Source(
        "yale-nlp/FinanceMath",
        "bdddc58655947475da852e241b96a7dbd1478742",
        "CLONE/outputs/validation/processed_cot_outputs --columns score=result"
        " --set title=FinanceMath",
    ),
    "misguided-attention": Source(
        "cpldcpu/MisguidedAttention",
        "bbae011e1fb5ce239373cb2f381787baec0dd236",
        "CLONE/eval/results_long_eval/detailed_evaluations_*.json --columns item=key,model=name,"
        "score=total_score,question=original_question,answer=original_response"
        " --set title=MisguidedAttention",
    ),
    "wildbench": Source(
        "allenai/WildBench",
        "d6b8dcaf377d173d031980f97c16e1a82618c03d",
        f"{_WILDBENCH}/gemma-[27]b-it.json {_WILDBENCH}/reka-*.json"
        f" {_WILDBENCH}/gpt-3.5-turbo-0125.json {_WILDBENCH}/Phi-3-mini-128k-instruct.json"
        " --columns model=model_test,item=session_id --set title=WildBench",
    ),
    "alpaca-eval": Source(
        "tatsu-lab/alpaca_eval",
        "cd543a149df89434d8a54582c0151c0b945c3d20",
        "CLONE/results/[cglv]*/alpaca_eval_gpt4/annotations.json --columns benchmark=annotator,"
        "model=generator_2,question=instruction,score=preference,answer=output_2"
        " --set title=AlpacaEval",
    ),
    "gsm8k": Source(
        *_ZERO_EVAL,
        "CLONE/result_dirs/gsm/gpt-4*.json CLONE/result_dirs/gsm/claude-3-*.json"
        " CLONE/result_dirs/gsm/gemini-*.json --set title=GSM8K",
    ),
    "math-level-5": Source(
        *_ZERO_EVAL,
        "CLONE/result_dirs/math-l5/gpt-4*.json CLONE/result_dirs/math-l5/claude-3-*.json"
        " CLONE/result_dirs/math-l5/gemini-*.json --set title='MATH, level 5'",
    ),
    "gsm8k-2021": Source(
        "openai/grade-school-math",
        "3101c7d5072418e28b9008a6636bde82a006892c",
        "CLONE/grade_school_math/data/example_model_solutions.jsonl"
        " --set title='GSM8K, models of 2021'",
    ),
    "tabmwp": Source(
        "lupantech/PromptPG",
        "7cf61b1bec07222fc24b4f5a1410911f77c2d2c9",
        "CLONE/results/t5 CLONE/results/tapex CLONE/results/gpt3 --set title=TabMWP",
    ),
    "halluqa": Source(
        "OpenMOSS/HalluQA",
        "7e5c67398d7fee013c37ec1d6afafa76f9836180",
        "CLONE/Chinese_LLMs_outputs/open_generation --columns score=is_hallucination --partial"
        " --set title=HalluQA",
    ),
    "mmlu": Source(
        "aryopg/mmlu-redux",
        "4563cfa79b659d76716e5b6019f46bba85fa02db",
        "CLONE/outputs/original_helm --set title=MMLU",
    ),
    "truthfulqa": Source(
        "hitz-zentroa/truthfulqa-multi",
        "11fe747386ff73f332c16fb7e05a924283212c0d",
        "CLONE/results/gen/en --metric bleu_acc --set 'title=TruthfulQA, BLEU'",
    ),
    "gpqa": Source(
        "klukosiute/gpqa-eval",
        "f3ef41aa537197ceabfcc265adcedc8354176fbc",
        "CLONE/eval_results/anthropic-*-opus-* CLONE/eval_results/openai-* --columns item=row,"
        "question=prompts,target=corrects,answer=sampled_texts,score=grading,model=model,run=run_id"
        " --partial --set 'title=GPQA, diamond'",
    ),
    "igakuqa": Source(
        "jungokasai/IgakuQA",
        "2bc4c3d159cf5505f6253d24a909fbd53237e239",
        "CLONE/baseline_results CLONE/data/20*/11[2-6]-[A-F].jsonl --set title=IgakuQA",
    ),
    "theoremqa": Source(
        "TIGER-AI-Lab/TheoremQA",
        "acfc9686aa9b49f3c8f189364a9a9ee9c53da039",
        "CLONE/outputs --columns item=row,question=question,answer=pred,target=correct.0"
        " --set title=TheoremQA",
    ),
    "humaneval": Source(
        *_LLM_DEBUGGER,
        "CLONE/input_data/humaneval/seed/[cgs]*/seed.jsonl --columns score=is_solved,item=task_id"
        " --set title=HumanEval",
    ),
    "mbpp": Source(
        *_LLM_DEBUGGER,
        "CLONE/input_data/mbpp/seed --columns score=is_solved,item=task_id --set title=MBPP",
    ),
    "intercode": Source(
        "princeton-nlp/intercode",
        "c3e46d827cfc9d4c704ec078f7abf9f41e3191d8",
        "CLONE/data/results/sql/[cgstv]*/*multiturn*_10_turns.json --columns"
        " score=summary.max_reward,question=query,item=task_id --set title='InterCode, SQL'",
    ),
    "realmistake": Source(
        "psunlpgroup/ReaLMistake",
        "f94a8b978926414deb1dcf6b50076fd06c892192",
        "CLONE/error_detection_outputs/simple_prompt_baseline --columns model=folder,form=file,"
        "item=metadata.id,target=label,answer=prediction --set title=ReaLMistake",
    ),
    "llmbar": Source(
        "princeton-nlp/LLMBar",
        "900616bff90b6c6c8e1681f7d079250637c55992",
        f"{_LLMBAR}/Vanilla/result.json {_LLMBAR}/Vanilla_NoRules/result.json"
        f" {_LLMBAR}/CoT/result.json --columns 'model=folder2,form=folder,item=row,question=input,"
        "target=label,answer=results.0.swap = False.winner' --set title='LLMBar, natural'",
    ),
    "judgebench": Source(
        "ScalerLab/JudgeBench",
        "e2c52c284e735e139b3daa61c206ee208f36c461",
        "CLONE/outputs/*response_model=gpt-4o* --columns item=pair_id,target=label,"
        "answer=judgments.0.decision,model=file --set title=JudgeBench",
    ),
    "uhgeval": Source(
        "IAAR-Shanghai/UHGEval",
        "affd38eacb68a8e23d534cb41d15dabc472f6dd1",
        "CLONE/docs/experiments/20240822/output-concise/*DiscSentence* --columns"
        " model=meta.model.name,score=metrics.accuracy,item=id --set title=UHGEval",
    ),
    "article-tracking": Source(
        "kevinschaul/llm-evals",
        "40a880c682e8242f88bf6b6881fa9f4e25492399",
        "CLONE/src/evals/article-tracking-categories/results/results_*.csv"
        " --set title='Article tracking'",
    ),
}
"""Row -> where its answers are, and how they are read."""


def commands() -> dict[str, str]:
    """Row -> the command that it shows."""
    return {**ROWS, **{name: source.command for name, source in PUBLIC.items()}}


def audited(name: str, data: Path | None, clones: Path | None, folder: Path) -> bool:
    """Run the command of a row; the audit holds it as it is shown. Return whether there are data."""
    command = commands()[name]
    words = []
    for word in shlex.split(command)[1:]:
        word = word.replace("$HQM_DATA", str(data))
        if not word.startswith("clones/"):
            words.append(word)
            continue
        pattern = word.removeprefix("clones/")
        paths = sorted(clones.glob(pattern)) if clones is not None else []
        words += [str(path) for path in paths] or [f"{clones}/{pattern}"]
    roots = tuple(str(root) for root in (data, clones) if root is not None)
    needed = [word for word in words if word.startswith(roots) or word.startswith("None/")]
    if not all(Path(word).exists() for word in needed):
        print(f"{name}: its answers are not there")
        return False
    if name in PUBLIC and not _is_at_commit(PUBLIC[name], clones):
        print(f"{name}: the clone is not at {PUBLIC[name].commit}")
        return False
    program = [sys.executable, "-m", "hqm", *words, "--out", str(folder)]
    environment = dict(os.environ) if data is None else {**os.environ, "HQM_DATA": str(data)}
    subprocess.run(program, check=True, cwd=ROOT, env=environment, stdout=PIPE)
    path = folder / "audit.json"
    audit = json.loads(path.read_text(encoding="utf-8"))
    text = json.dumps({**audit, "command": command}, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")
    return True


def _is_at_commit(source: Source, clones: Path | None) -> bool:
    """Whether a clone is at the commit of a row; a folder of its files alone is taken as it is."""
    clone = (clones or Path()) / source.repository.partition("/")[2]
    if not (clone / ".git").exists():
        return True
    program = ["git", "-C", str(clone), "rev-parse", "HEAD"]
    head = subprocess.run(program, check=True, stdout=PIPE, text=True).stdout.strip()
    return head == source.commit


def merge_rows(index: Mapping[str, Any], new_index: Mapping[str, Any]) -> dict[str, Any]:
    """Return the index with its rows replaced by new ones of the same command, in order."""
    order = list(commands().values())
    sources = {source.command: source for source in PUBLIC.values()}
    new_rows = list(new_index["rows"])
    for row in new_rows:
        source = sources.get(row["command"])
        if source is not None:
            row["source"] = {"repository": source.repository, "commit": source.commit}
    replaced = {row["command"] for row in new_rows}
    rows = [row for row in index["rows"] if row["command"] not in replaced]
    rows = [row for row in (*rows, *new_rows) if row["command"] in order]
    rows.sort(key=lambda row: order.index(row["command"]))
    is_whole = {*replaced} >= {*ROWS.values()}
    _, _, moved = str((new_index if is_whole else index)["measured"]).partition(". ")
    return {
        "finding": _count_open(rows),
        "measured": f"{_count_measured(rows)} {moved}",
        "rows": rows,
    }


def _count_open(rows: Iterable[Mapping[str, Any]]) -> str:
    """Say on how many leaderboards the first model is not shown to differ from the second."""
    leads = [row["lead"]["about"] for row in rows if row["lead"]["number"] is not None]
    n_open = sum(about != "shown on new items" for about in leads)
    return (
        f"On {number_word(n_open)} of {number_word(len(leads))} leaderboards the first model is"
        " not shown to differ from the second on new items."
    )


def _count_measured(rows: Iterable[Mapping[str, Any]]) -> str:
    """Say in how many audits another wording was asked, and in how many people judged."""
    statements = [row["statement"] for row in rows if row["statement"]]
    n_reworded = sum(said["wording"] != "wording not measured" for said in statements)
    n_judged = sum(said["labels"] != "people not measured" for said in statements)
    reworded, judged = (number_word(n) if n else "none" for n in (n_reworded, n_judged))
    return (
        f"Another wording was asked in {reworded} of {number_word(len(statements))} audits, and"
        f" people judged the answers of {judged}."
    )


def main(arguments: argparse.Namespace) -> None:
    """Audit the rows, write the site, and take its rows into the documentation."""
    data = Path(os.environ["HQM_DATA"]).absolute() if "HQM_DATA" in os.environ else None
    clones = arguments.clones and arguments.clones.absolute()
    site = arguments.site.absolute()
    folders = {name: site.parent / "rows" / name for name in arguments.rows or commands()}
    folders = {name: path for name, path in folders.items() if audited(name, data, clones, path)}
    program = [sys.executable, "-m", "hqm", "report", *map(str, folders.values())]
    subprocess.run([*program, "--index", str(site)], check=True)
    new_index = json.loads((site / "index.json").read_text("utf-8"))
    index = merge_rows(json.loads(INDEX.read_text("utf-8")), new_index)
    INDEX.write_text(f"{json.dumps(index, indent=1, ensure_ascii=False)}\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make rows of the index.")
    parser.add_argument("site", type=Path)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--clones", type=Path, help="the folder of the clones")
    main(parser.parse_args())
