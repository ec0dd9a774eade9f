"""Two benchmarks with answers, made by a generator: a sound one, and one with a fault of every kind
that the gate must name.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import hqm
from tests.conftest import write_benchmark

TYPES = ("existence", "action", "counting")
OBJECT_NAMES = [
    f"{a}{b}"
    for a in ("dog", "cat", "car", "bus", "hat", "cup", "key", "map")
    for b in ("", "let", "ling", "ette", "house")
]
WORDINGS = (
    "Is there a {} in the image?",
    "Does the picture show a {}?",
    "Can you see a {} in the picture?",
    "Is a {} visible in the image?",
)
NAMES = (
    "alder beech cedar date elm fig gorse hazel ivy juniper kapok larch maple nutmeg oak pine"
    " quince rowan sumac teak umbra vine willow yew"
).split()
CARD = {
    "licence": "CC-BY-4.0",
    "citation": "A 2026",
    "summary": "Are things seen?",
    "labelled": True,
}


@dataclass(frozen=True)
class World:
    """Where the files lie, and which items have a planted fault."""

    folder: Path
    answers: Path
    labels: Path
    wrong_keys: tuple[str, ...] = ()


def rows_of(
    rng: np.random.Generator, per_type: int, types: tuple[str, ...] = TYPES
) -> list[dict[str, Any]]:
    """Items in an order drawn by lot, two a picture; wordings, things and right answers drawn
    apart.
    """
    kinds = rng.permutation(list(types) * per_type)
    answers = {
        kind: iter(rng.permutation(["yes", "no"] * (per_type // 2)).tolist()) for kind in types
    }
    numbers = rng.permutation(10 * len(kinds))[: len(kinds)]
    object_pairs = [
        rng.choice(len(OBJECT_NAMES), 2, replace=False).tolist() for _ in range(len(kinds) // 2)
    ]
    return [
        {
            "id": f"{number:06}x",
            "prompt": str(rng.choice(list(WORDINGS))).format(
                OBJECT_NAMES[object_pairs[i // 2][i % 2]]
            ),
            "target": next(answers[str(kind)]),
            "type": str(kind),
            "image": f"{i // 2:04}.png",
        }
        for i, (kind, number) in enumerate(zip(kinds, numbers, strict=True))
    ]


def draw(folder: Path, rows: list[dict[str, Any]]) -> None:
    """A small picture of sixteen blocks for every name."""
    (folder / "images").mkdir(exist_ok=True)
    for name in sorted({row["image"] for row in rows}):
        blocks = np.random.default_rng(int(name[:4])).integers(0, 256, (4, 4, 3), dtype=np.uint8)
        Image.fromarray(blocks).resize((32, 32), Image.Resampling.NEAREST).save(
            folder / "images" / name
        )


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """The benchmark's folder with all its pictures."""
    settings = {**CARD, "types": list(TYPES), "data": {"items": "items.jsonl", "images": "images"}}
    write_benchmark(folder, rows, **settings)
    draw(folder, rows)
    return folder


def answer(
    folder: Path,
    truth: dict[str, str],
    rng: np.random.Generator,
    respondents: int,
    *,
    parallel: bool,
) -> tuple[Path, Path]:
    """Answers of graded respondents (.55 to .97 right), two runs, and people's labels of the first
    run.

    Whether a respondent is right depends on its ability, on the item, and on luck. People judge by
    the truth and err in three of a hundred answers.
    """
    benchmark = hqm.load(str(folder))
    by_name = {"original": benchmark.original} | (
        {"parallel": benchmark.parallel_form} if parallel else {}
    )
    ability = np.log(
        np.linspace(0.55, 0.97, respondents) / (1 - np.linspace(0.55, 0.97, respondents))
    )
    ease = {item: rng.normal(0, 0.7) for item in truth}
    records, labels = [], []
    for name, skill in zip(NAMES, ability, strict=False):
        for form in by_name.values():
            for run in (0, 1) if form.name == "original" else (0,):
                for item in form.items:
                    right = rng.random() < 1 / (1 + np.exp(-skill - ease[item.id]))
                    reply = truth[item.id] if right else {"yes": "no", "no": "yes"}[truth[item.id]]
                    if form.name != "original":
                        reply = {"yes": "no", "no": "yes"}[reply]
                    records.append(
                        {
                            "respondent": name,
                            "form": form.name,
                            "run": run,
                            "item": item.id,
                            "answer": reply,
                        }
                    )
                    if form.name == "original" and run == 0:
                        labels.append(
                            (item.id, name, int(right) if rng.random() > 0.03 else int(not right))
                        )
    path, labelled = folder.parent / "answers.jsonl", folder.parent / "labels.csv"
    path.write_text("\n".join(map(json.dumps, records)))
    with labelled.open("w", newline="") as opened:
        csv.writer(opened).writerows([("item", "respondent", "label"), *labels])
    return path, labelled


def sound(home: Path, seed: int = 4, per_type: int = 220, respondents: int = 12) -> World:
    """Nothing is wrong with it."""
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, per_type)
    folder = write(home / "sound", rows)
    truth = {row["id"]: row["target"] for row in rows}
    return World(folder, *answer(folder, truth, rng, respondents, parallel=True))


def broken(home: Path, seed: int = 2, per_type: int = 100, respondents: int = 12) -> World:
    """Its faults: words give *action* away, the place in the file *counting*; twins contradict;
    keys and pictures are wrong.
    """
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, per_type)
    turned = {"yes": "no", "no": "yes"}
    for i, row in enumerate(rows):
        if row["type"] == "action":
            noun = row["prompt"].rpartition(" a ")[2].split()[0].rstrip("?")
            row["prompt"] = WORDINGS[0 if row["target"] == "yes" else 1].format(noun)
        if row["type"] == "counting":
            row["target"] = "yes" if i % 2 else "no"
    truth = {row["id"]: row["target"] for row in rows}
    existence = [row for row in rows if row["type"] == "existence"]
    wrong = [existence[i] for i in rng.choice(len(existence), 8, replace=False)]
    for row in wrong:
        row["target"] = turned[row["target"]]
    twins = [row for row in rows if row["type"] == "existence" and row not in wrong][:3]
    for row in twins:
        rows.append(
            {
                **row,
                "id": f"again{row['id']}",
                "prompt": row["prompt"].upper(),
                "target": turned[row["target"]],
            }
        )
        truth[f"again{row['id']}"] = truth[row["id"]]
    folder = write(home / "broken", rows)
    (folder / "images" / "0003.png").unlink()
    (folder / "images" / "0005.png").write_bytes(b"no picture")
    answer_paths = answer(folder, truth, rng, respondents, parallel=False)
    return World(folder, *answer_paths, tuple(row["id"] for row in wrong))
