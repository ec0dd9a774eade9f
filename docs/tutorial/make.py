"""Make the material of the tutorial: 25 drawn pictures and 50 questions, one of which is wrong on
purpose.

python -m docs.tutorial.make [FOLDER]          writes questions.csv and pictures/ into the folder, or beside this file
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from hqm.benchmarks.shapes.scene import draw

from training.questions import Question, random_scene, yes_no

SEED = 50
PICTURES = 25
TYPES = ("existence", "attribute")


def main(folder: Path) -> None:
    """Write the CSV file and the pictures."""
    rng = np.random.default_rng(SEED)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    truths = {kind: rng.permutation([True, False] * (PICTURES // 2 + 1)).tolist() for kind in TYPES}
    rows: list[list[str]] = []
    for k in range(PICTURES):
        name = f"card-{k + 1:02}.png"
        asked: list[Question | None] = [None]
        while None in asked:
            scene = random_scene(rng)
            asked = [yes_no(scene, kind, truths[kind][k], rng) for kind in TYPES]
        draw(scene).save(folder / "pictures" / name)
        rows += [[q.text, q.answer, name, q.type] for q in asked if q is not None]
    # the mistake: the first question again, in another spelling and with the opposite answer
    text, answer, name, kind = rows[0]
    rows[-1] = [
        text.upper().capitalize().rstrip("?") + " ?",
        "no" if answer == "yes" else "yes",
        name,
        kind,
    ]
    with (folder / "questions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["Question", "Answer", "Picture", "Type"])
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
