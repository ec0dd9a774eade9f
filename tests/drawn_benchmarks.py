"""A good and a deliberately bad benchmark, drawn anew for every seed: real pictures, and recorded
answers of graded ability.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from tests.conftest import write_benchmark

SHAPES = ("circle", "square", "cross", "ring", "bar", "star")
COLOURS = {
    "red": "#d22",
    "green": "#2a2",
    "blue": "#22d",
    "yellow": "#dc2",
    "purple": "#a2c",
    "black": "#111",
}
CENTERS = {"left": 40, "right": 120}
TYPES = ("existence", "attribute", "relation")
LETTERS = "ABCD"


@dataclass
class PlantedBenchmark:
    """A benchmark's folder, the file of recorded answers, and what was planted."""

    folder: Path
    answers: Path
    rows: list[dict[str, Any]]
    truth: Mapping[str, str]
    """Item -> the right answer, whatever the key says."""
    wrong_keys: tuple[str, ...] = ()
    twins: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    claimed_in_vain: tuple[str, ...] = ()
    planted: Sequence[str] = field(default_factory=tuple)


Scene = tuple[tuple[str, str], tuple[str, str]]
"""Shape and colour on the left, and on the right."""


def draw(scene: Scene, path: Path, rng: random.Random, size: int = 160) -> None:
    """A picture of two shapes on a ground of its own."""
    picture = Image.new("RGB", (size, size), tuple(rng.randint(200, 255) for _ in range(3)))
    pen = ImageDraw.Draw(picture)
    for x, (shape, colour) in zip(CENTERS.values(), scene, strict=True):
        y, r, ink = rng.randint(45, 115), rng.randint(18, 30), COLOURS[colour]
        box = (x - r, y - r, x + r, y + r)
        if shape == "circle":
            pen.ellipse(box, fill=ink)
        elif shape == "square":
            pen.rectangle(box, fill=ink)
        elif shape == "ring":
            pen.ellipse(box, outline=ink, width=6)
        elif shape == "bar":
            pen.rectangle((x - r, y - 5, x + r, y + 5), fill=ink)
        elif shape == "cross":
            pen.line((x - r, y, x + r, y), fill=ink, width=8)
            pen.line((x, y - r, x, y + r), fill=ink, width=8)
        else:
            pen.regular_polygon((x, y, r), 3, fill=ink)
    picture.save(path)


def _scene(rng: random.Random) -> Scene:
    left, right = rng.sample(SHAPES, 2)
    first, second = rng.sample(list(COLOURS), 2)
    return (left, first), (right, second)


def _question(kind: str, scene: Scene, answer: str, rng: random.Random) -> str:
    """A yes/no question about a scene whose right answer is this one."""
    (left, ink), (right, right_ink) = scene
    yes = answer == "yes"
    begin = rng.choice(("Is there", "Can you see", "Does the picture show"))
    if kind == "existence":
        shape = (
            rng.choice((left, right))
            if yes
            else rng.choice([s for s in SHAPES if s not in (left, right)])
        )
        return f"{begin} a {shape} {rng.choice(('in the image', 'here', 'anywhere'))}?"
    if kind == "attribute":
        shape, colour = rng.choice(((left, ink), (right, right_ink)))
        stated_colour = colour if yes else rng.choice([c for c in COLOURS if c != colour])
        return rng.choice(
            (f"Is the {shape} {stated_colour}?", f"Is the colour of the {shape} {stated_colour}?")
        )
    pair = (left, right) if yes else (right, left)
    side = rng.choice(("left", "right"))
    first, reference_shape = pair if side == "left" else pair[::-1]
    return f"Is the {first} {rng.choice(('to the', 'on the'))} {side} of the {reference_shape}?"


def _choice(kind: str, scene: Scene, letter: str, rng: random.Random) -> tuple[str, list[str]]:
    """A question with four options whose right one stands at this letter."""
    (left, ink), (right, right_ink) = scene
    if kind == "existence":
        right_one, wrong = (
            rng.choice((left, right)),
            rng.sample([s for s in SHAPES if s not in (left, right)], 3),
        )
        prompt = rng.choice(
            ("Which shape is in the image?", "What can be seen here?", "Which of these is shown?")
        )
    elif kind == "attribute":
        shape, right_one = rng.choice(((left, ink), (right, right_ink)))
        wrong = rng.sample([c for c in COLOURS if c != right_one], 3)
        prompt = rng.choice(
            (f"Which colour has the {shape}?", f"What is the colour of the {shape}?")
        )
    else:
        side, right_one = rng.choice((("left", left), ("right", right)))
        wrong = rng.sample([s for s in SHAPES if s != right_one], 3)
        prompt = f"Which shape is {rng.choice(('on the', 'furthest to the'))} {side}?"
    options = list(wrong)
    options.insert(LETTERS.index(letter), right_one)
    return prompt, options


def _items(
    rng: random.Random, task: str, images: Path, per_type: int
) -> tuple[list[dict[str, Any]], dict[str, Scene]]:
    """As many items of each type, each about a picture of its own, balanced by exact halves (or
    quarters) and shuffled.
    """
    images.mkdir(parents=True, exist_ok=True)
    labels = ("yes", "no") if task == "yes_no" else tuple(LETTERS)
    rows, scenes = [], {}
    for kind in TYPES:
        for i in range(per_type):
            answer, scene, image = (
                labels[i % len(labels)],
                _scene(rng),
                f"{rng.getrandbits(40):010x}.png",
            )
            draw(scene, images / image, rng)
            row: dict[str, Any] = {"target": answer, "image": image, "type": kind}
            if task == "yes_no":
                row["prompt"] = _question(kind, scene, answer, rng)
            else:
                row["prompt"], row["options"] = _choice(kind, scene, answer, rng)
            rows.append(row)
            scenes[image] = scene
    rng.shuffle(rows)
    for n, row in enumerate(rows):
        row["id"] = f"i{n:04d}"
    return rows, scenes


def respond(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    truth: Mapping[str, str],
    task: str,
    n: int,
    rng: random.Random,
) -> None:
    """Answers of respondents from weak to strong, in two runs of the original form and one of the
    reversed questions.
    """
    hard = {str(row["id"]): rng.gauss(0, 0.7) for row in rows}
    with path.open("w", encoding="utf-8") as file:
        for k in range(n):
            ability = -0.6 + 2.3 * k / max(n - 1, 1)
            for form, run in (("original", 0), ("original", 1)):
                for row in rows:
                    item = str(row["id"])
                    labels = ("yes", "no") if task == "yes_no" else tuple(LETTERS)
                    knows = rng.gauss(0, 0.6) + ability - hard[item] > 0
                    reply = truth[item] if knows else rng.choice(labels)
                    line = {
                        "item": item,
                        "respondent": f"{NAMES[k % len(NAMES)]}-{k}b",
                        "form": form,
                        "run": run,
                        "answer": reply,
                    }
                    file.write(json.dumps(line) + "\n")


NAMES = (
    "aria",
    "boreal",
    "cedar",
    "dune",
    "ember",
    "fjord",
    "garnet",
    "heron",
    "iris",
    "juniper",
    "kelp",
    "lumen",
)


def good(
    home: Path, seed: int, *, task: str = "yes_no", respondents: int = 12, per_type: int = 140
) -> PlantedBenchmark:
    """A benchmark without a fault."""
    rng = random.Random(seed)
    rows, _ = _items(rng, task, home / "images", per_type)
    truth = {str(row["id"]): str(row["target"]) for row in rows}
    return _write_benchmark(home, rows, truth, task, respondents, rng, types=TYPES)


def bad(
    home: Path,
    seed: int,
    *,
    task: str = "yes_no",
    respondents: int = 12,
    per_type: int = 140,
    wrong: int = 23,
) -> PlantedBenchmark:
    """A benchmark with a type solvable from words, a position leak, contradictory twins, wrong
    keys, and faulty pictures.
    """
    rng = random.Random(seed)
    images = home / "images"
    rows, scenes = _items(rng, task, images, per_type)
    # a type that the words give away
    for row in rows:
        if row["type"] == "existence":
            _give_away(row, scenes[row["image"]], task, rng)
    # the place gives the answer away in another type
    _leak_position([row for row in rows if row["type"] == "relation"], rows, task, rng)
    truth = {str(row["id"]): str(row["target"]) for row in rows}
    # the same picture under another name, the same question, another key
    twins = []
    for n, row in enumerate(rng.sample([r for r in rows if r["type"] == "attribute"], 5)):
        name, item = f"copy-{rng.getrandbits(40):010x}.png", f"i{len(rows):04d}"
        if n % 2:
            Image.open(images / row["image"]).save(
                images / name, compress_level=1
            )  # other bytes, the same picture
        else:
            (images / name).write_bytes((images / row["image"]).read_bytes())
        twin = {**row, "id": item, "image": name, "target": _another(row, task, rng)}
        rows.append(twin)
        truth[item] = str(row["target"])
        twins.append((str(row["id"]), item))
    twin_ids = {name for pair in twins for name in pair}
    other_rows = [row for row in rows if row["id"] not in twin_ids]
    faulty = rng.sample([row for row in other_rows if row["type"] == "attribute"], wrong)
    for row in faulty:
        row["target"] = _another(row, task, rng)
    pictures = rng.sample([row["image"] for row in other_rows], 7)
    for name in pictures[:4]:
        (images / name).unlink()
    for name in pictures[4:]:
        content = (images / name).read_bytes()
        (images / name).write_bytes(content[: len(content) // 2])
    planted = _write_benchmark(home, rows, truth, task, respondents, rng, types=(*TYPES, "ocr"))
    planted.wrong_keys = tuple(str(row["id"]) for row in faulty)
    planted.twins, planted.missing, planted.broken = (
        tuple(twins),
        tuple(pictures[:4]),
        tuple(pictures[4:]),
    )
    planted.claimed_in_vain = ("ocr",)
    return planted


def _another(row: Mapping[str, Any], task: str, rng: random.Random) -> str:
    if task == "yes_no":
        return {"yes": "no", "no": "yes"}[row["target"]]
    return rng.choice([letter for letter in LETTERS if letter != row["target"]])


def _give_away(row: dict[str, Any], scene: Scene, task: str, rng: random.Random) -> None:
    if task == "yes_no":
        (left, _), (right, _) = scene
        present = (
            [left, right]
            if row["target"] == "yes"
            else [s for s in SHAPES if s not in (left, right)]
        )
        word = "a" if row["target"] == "yes" else "any"
        row["prompt"] = (
            f"{rng.choice(('Is there', 'Can you see'))} {word} {rng.choice(present)} in the image?"
        )
    else:
        row_name = {"A": "first", "B": "second", "C": "third", "D": "last"}[row["target"]]
        row["prompt"] = f"Looking at the {row_name} row, which shape is in the image?"


def _leak_position(
    leaking: list[dict[str, Any]], rows: list[dict[str, Any]], task: str, rng: random.Random
) -> None:
    if task == "choice":
        # the right option stands first in most questions
        for row in leaking:
            if rng.random() < 0.7:
                options, target_index = list(row["options"]), LETTERS.index(row["target"])
                options[0], options[target_index] = options[target_index], options[0]
                row["options"], row["target"] = options, "A"
        return
    # even places say yes: the questions of the type are put there
    rows_by_target: dict[str, list[dict[str, Any]]] = {"yes": [], "no": []}
    for row in leaking:
        rows_by_target[row["target"]].append(row)
    positions = [i for i, row in enumerate(rows) if row["type"] == leaking[0]["type"]]
    for i in positions:
        first, second = ("yes", "no") if i % 2 == 0 else ("no", "yes")
        rows[i] = (
            rows_by_target[first].pop() if rows_by_target[first] else rows_by_target[second].pop()
        )
    for n, row in enumerate(rows):
        row["id"] = f"i{n:04d}"


def _write_benchmark(
    home: Path,
    rows: list[dict[str, Any]],
    truth: dict[str, str],
    task: str,
    n: int,
    rng: random.Random,
    *,
    types: Sequence[str],
) -> PlantedBenchmark:
    folder = write_benchmark(
        home,
        rows,
        name=f"drawn_{task}",
        title="Drawn shapes",
        task=task,
        types=list(types),
        labelled=True,
        licence="CC0-1.0",
        citation="Nobody (2026), Shapes drawn for a test",
        summary="Two shapes on a ground.",
        data={"items": "items.jsonl", "images": "images"},
    )
    respond(home / "answers.jsonl", rows, truth, task, n, rng)
    return PlantedBenchmark(folder, home / "answers.jsonl", rows, truth)
