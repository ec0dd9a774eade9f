"""The first rows of the index: answers that were released, audited by the command that a row shows.

    HQM_DATA=data python docs/index_rows.py out/index [ROW ...]

Rows whose answers are not in the folder are left out, and named. `shapes` asks ten tiny models.
The rows are also the first page of the documentation: where all were made, docs/make/index.json is
written anew.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

ROOT = Path(__file__).resolve().parent.parent

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


def audited(name: str, data: Path, folder: Path) -> bool:
    """Run the command of a row; the audit holds it as it is shown. Return whether there are data."""
    command = ROWS[name]
    words = [word.replace("$HQM_DATA", str(data)) for word in shlex.split(command)[1:]]
    if not all(Path(word).exists() for word in words if word.startswith(str(data))):
        print(f"{name}: its answers are not in {data}")
        return False
    program = [sys.executable, "-m", "hqm", *words, "--out", str(folder)]
    subprocess.run(
        program, check=True, cwd=ROOT, env={**os.environ, "HQM_DATA": str(data)}, stdout=PIPE
    )
    path = folder / "audit.json"
    audit = json.loads(path.read_text(encoding="utf-8"))
    text = json.dumps({**audit, "command": command}, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")
    return True


def main(site: Path, names: list[str]) -> None:
    """Audit the rows, and write the site."""
    data, site = Path(os.environ["HQM_DATA"]).absolute(), site.absolute()
    folders = {name: site.parent / "rows" / name for name in names or ROWS}
    made = [str(folder) for name, folder in folders.items() if audited(name, data, folder)]
    program = [sys.executable, "-m", "hqm", "report", *made, "--index", str(site)]
    subprocess.run(program, check=True)
    if len(made) == len(ROWS):
        shutil.copy(site / "index.json", Path(__file__).parent / "make" / "index.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
