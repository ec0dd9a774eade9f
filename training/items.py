"""Make the embedded benchmark: scenes and the items of the four tasks, from one fixed seed.

python -m training.items          writes scenes.jsonl and the four items.jsonl
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from hqm.benchmarks.shapes.scene import NUMBERS, SHAPES, Scene

from hqm.types import HALLUCINATION_TYPES as TYPES
from training.questions import (
    INSTRUCTIONS,
    MAX_ASKED_NUMBER,
    Question,
    choice,
    count_question,
    exact_count_question,
    open_question,
    random_scene,
    yes_no,
)

SEED = 240617115
IMAGES = 252
"""The number of pictures that all tasks share.

Each has questions of four of the eight types, so that every type has 126 items in a task.
"""
COUNTED_SEED = 240617116
POLAR_SEED = 240617118
RECORDED = 24
"""The first yes/no questions, which stand in logs of other tools, and stay as they are."""
COUNTED = ("choice", "vqa")
"""Tasks whose counting questions have each number equally often as the right answer. Few scenes
have three or four of a shape, so that these get pictures of their own.
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
    _balance_counts(rows)
    _balance_polar_counts(rows)
    return rows


def _balance_counts(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Ask the counting questions of choice and short answers anew, so that every number is the
    right answer to as many of them, and put scenes with many shapes of a kind behind the others.

    A question keeps its scene where the number that is wanted occurs in it.
    """
    rng = np.random.default_rng(COUNTED_SEED)
    scenes = _scenes_by_image(rows["scenes"])
    places = [i for i, row in enumerate(rows["choice"]) if row["type"] == "counting"]
    wanted = [NUMBERS[i % len(NUMBERS)] for i in range(len(places))]
    images = [rows["choice"][place]["image"] for place in places]
    numbers = _assign_numbers([scenes[image] for image in images], wanted, rng)
    for place, image, number in zip(places, images, numbers, strict=True):
        scene = scenes[image]
        if not _shapes_with(scene, number):
            image = _add_scene(rows["scenes"], number, rng)
            scene = _scenes_by_image(rows["scenes"][-1:])[image]
        shapes = _shapes_with(scene, number)
        for task in COUNTED:
            shape = shapes[int(rng.integers(len(shapes)))]
            row = rows[task][place]
            row |= {"image": image, "prompt": count_question(shape)}
            if task == "choice":
                wrong = [name for name in NUMBERS if name != number]
                offered = [*rng.permutation(wrong)[:3].tolist(), number]
                options = [offered[k] for k in rng.permutation(4)]
                row |= {"target": "ABCD"[options.index(number)], "options": options}
            else:
                row |= {"target": number, "rivals": [n for n in NUMBERS if n != number]}


def _balance_polar_counts(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Ask the counting questions of yes and no anew, so that every number is asked about as often
    with either answer. The answers stay as they are.

    A question keeps its scene where that can be; else it gets one of those behind the others, of
    which none is used twice.
    """
    rng = np.random.default_rng(POLAR_SEED)
    scenes = _scenes_by_image(rows["scenes"])
    spare_images = list(scenes)[IMAGES:]
    for answer in ("yes", "no"):
        places = [
            i
            for i, row in enumerate(rows["yesno"])
            if row["type"] == "counting" and row["target"] == answer
        ]
        asked = [1 + i % MAX_ASKED_NUMBER for i in range(len(places))]
        for place in places:
            if place < RECORDED:
                asked.remove(_asked_number(rows["yesno"][place]["prompt"]))
        polar_rows = [rows["yesno"][place] for place in places if place >= RECORDED]
        if answer == "yes":
            wanted = [NUMBERS[number] for number in asked]
            own_scenes = [scenes[row["image"]] for row in polar_rows]
            names = _assign_numbers(own_scenes, wanted, rng)
            asked = [NUMBERS.index(name) for name in names]
        else:
            asked = rng.permutation(asked).tolist()
        for row, number in zip(polar_rows, asked, strict=True):
            if not _shapes_asked(scenes[row["image"]], number, answer):
                suitable = [i for i in spare_images if _shapes_asked(scenes[i], number, answer)]
                if not suitable:
                    suitable = [_add_scene(rows["scenes"], NUMBERS[number], rng)]
                    scenes |= _scenes_by_image(rows["scenes"][-1:])
                    spare_images += suitable
                row["image"] = suitable[0]
                spare_images.remove(suitable[0])
            shapes = _shapes_asked(scenes[row["image"]], number, answer)
            shape = shapes[int(rng.integers(len(shapes)))]
            row["prompt"] = exact_count_question(number, shape)


def _asked_number(prompt: str) -> int:
    """Return the number that a counting question of yes and no asks about."""
    return next(NUMBERS.index(word) for word in prompt.split() if word in NUMBERS)


def _shapes_asked(scene: Scene, number: int, answer: str) -> list[str]:
    """Return the shapes in a scene about whose number the answer is right."""
    is_equal = answer == "yes"
    return [
        shape
        for shape in SHAPES
        if scene.count(shape) and (scene.count(shape) == number) == is_equal
    ]


def _scenes_by_image(rows: Sequence[dict[str, Any]]) -> dict[str, Scene]:
    """Return the scene of each picture."""
    scenes = {}
    for row in rows:
        fields = dict(row)
        image = fields.pop("image")
        scenes[image] = Scene.from_dict(fields)
    return scenes


def _shapes_with(scene: Scene, number: str) -> list[str]:
    """Return the shapes of which there are so many."""
    return [shape for shape in SHAPES if NUMBERS[scene.count(shape)] == number]


def _add_scene(rows: list[dict[str, Any]], number: str, rng: np.random.Generator) -> str:
    """Draw a scene in which there are so many of a shape, and return its picture."""
    while not _shapes_with(scene := random_scene(rng), number):
        pass
    image = f"scene-{len(rows):03}.png"
    rows.append({"image": image, **asdict(scene)})
    return image


def _assign_numbers(
    scenes: Sequence[Scene], wanted: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """Return a number for each scene, those that occur in few scenes first, in one that has it."""
    left = [int(i) for i in rng.permutation(len(scenes))]
    numbers = [""] * len(scenes)
    for number in sorted(wanted, key=NUMBERS.index, reverse=True):
        place = next((i for i in left if _shapes_with(scenes[i], number)), left[0])
        left.remove(place)
        numbers[place] = number
    return numbers


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
