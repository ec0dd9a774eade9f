"""Make the embedded benchmark: scenes and the items of the four tasks, from one fixed seed.

python -m training.items          writes scenes.jsonl and the four items.jsonl
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from hqm.benchmarks.shapes.scene import Scene

from hqm.types import HALLUCINATION_TYPES as TYPES
from training.questions import (
    INSTRUCTIONS,
    Question,
    choice,
    open_question,
    random_scene,
    yes_no,
)

SEED = 240617115
IMAGES = 252
"""The number of pictures.

Each has questions of four of the eight types, so that every type has 126 items in a task.
"""
TASKS = ("yesno", "choice", "vqa", "caption")


def build_rows() -> dict[str, list[dict[str, Any]]]:
    """The rows of every file: the scenes, and the items of each task."""
    rng = np.random.default_rng(SEED)
    truths = {kind: rng.permutation([True, False] * (IMAGES // 4)).tolist() for kind in TYPES}
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in ("scenes", *TASKS)}
    for i in range(IMAGES):
        kinds = TYPES[:4] if i % 2 == 0 else TYPES[4:]
        scene, questions = _scene_for(
            truths={kind: truths[kind][i // 2] for kind in kinds}, rng=rng
        )
        image = f"scene-{i:03}.png"
        rows["scenes"].append({"image": image, **asdict(scene)})
        for kind, (polar, four, short) in questions.items():
            rows["yesno"].append(_row("y", rows["yesno"], image, polar, {"target": polar.answer}))
            rows["choice"].append(
                _row(
                    "c",
                    rows["choice"],
                    image,
                    four,
                    {
                        "target": "ABCD"[four.options.index(four.answer)],
                        "options": list(four.options),
                    },
                )
            )
            rows["vqa"].append(_row("v", rows["vqa"], image, short, _short_answer(short, kind)))
        for text in INSTRUCTIONS:
            row = {
                "id": f"d{len(rows['caption']):04}",
                "image": image,
                "prompt": text,
                "type": "existence",
            }
            rows["caption"].append(row)
    return rows


def _scene_for(
    truths: dict[str, bool], rng: np.random.Generator
) -> tuple[Scene, dict[str, tuple[Question, ...]]]:
    """A scene about which every wanted question can be asked, and those questions."""
    while True:
        scene = random_scene(rng)
        questions: dict[str, tuple[Question, ...]] = {}
        for kind, truth in truths.items():
            drafts = (
                yes_no(scene, kind, truth, rng),
                choice(scene, kind, rng),
                open_question(scene, kind, rng),
            )
            if None in drafts:
                break
            questions[kind] = tuple(q for q in drafts if q is not None)
        if len(questions) == len(truths):
            return scene, questions


def _row(
    prefix: str, rows: list[dict[str, Any]], image: str, question: Question, fields: dict[str, Any]
) -> dict[str, Any]:
    return {
        "id": f"{prefix}{len(rows):04}",
        "image": image,
        "prompt": question.text,
        "type": question.type,
        **fields,
    }


def _short_answer(question: Question, kind: str) -> dict[str, Any]:
    """The target and the rivals of a short answer; a list of shapes must name every shape."""
    if kind == "existence":
        target: Any = [shape for shape in question.options if shape in question.answer]
        return {
            "target": target,
            "rivals": [shape for shape in question.options if shape not in target],
        }
    return {
        "target": question.answer,
        "rivals": [option for option in question.options if option != question.answer],
    }


def main() -> None:
    """Write the files beside the cards."""
    shapes_folder = Path(__file__).resolve().parents[1] / "benchmarks" / "shapes"
    for name, rows in build_rows().items():
        path = (
            shapes_folder / "scenes.jsonl"
            if name == "scenes"
            else shapes_folder.parent / f"shapes_{name}" / "items.jsonl"
        )
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        print(f"{path}: {len(rows)} rows")


if __name__ == "__main__":
    main()
