"""The seeds' released benchmarks beside ours, built from the same annotations: words alone,
lengths, labels, objects.

    python -m tests.perf.builders DATA [ITEMS [pope hal_eval amber valor hqh]]

DATA has coco/, pope/, amber/ and hal_eval/ (HQM_DATA unless given); ITEMS are built of each, 3,000
unless given.

It prints the table of docs/builders.md. Nothing is asked; everything is measured on questions and
right answers.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hqm_build.building import Build, build

from hqm.files.records import read_records
from hqm.psychometrics import blind_solvability, length_cue
from hqm.psychometrics.inference.bootstrap import stream

ROOT = Path(__file__).resolve().parents[2]


def words(prompts: Sequence[str], labels: Sequence[str], clusters: Sequence[str]) -> float:
    """Cross-validated accuracy of the words alone."""
    study = blind_solvability(prompts, labels, rng=stream(0, "compare"), clusters=clusters, folds=5)
    return study.accuracy.value


def released_pope(data: Path) -> Iterable[tuple[str, float]]:
    """Each part of the released POPE."""
    for part in ("random", "popular", "adversarial"):
        rows = read_records(data / "pope" / f"coco_pope_{part}.json")
        yield (
            part,
            words(
                [r["text"] for r in rows], [r["label"] for r in rows], [r["image"] for r in rows]
            ),
        )


def released_lengths(data: Path) -> Iterable[tuple[str, float]]:
    """Each kind of the released Hal-Eval: true captions against wrong ones, by one threshold of the
    number of words.
    """
    rows = json.loads((data / "hal_eval" / "in_domain_evaluation.json").read_text("utf-8"))
    for kind in ("Objective", "Attributive", "Spatial Relationship", "Event"):
        lengths, labels, images = [], [], []
        for row in rows:
            wrong = next(
                (w["caption"] for w in row["hal_caption"] if w["type"].startswith(kind)), None
            )
            if wrong is not None:
                lengths += [len(row["caption"].split()), len(wrong.split())]
                labels += ["yes", "no"]
                images += [row["image"]] * 2
        study = length_cue(lengths, labels, rng=stream(0, "compare"), clusters=images, folds=5)
        yield kind, study.strongest.accuracy.value


def built(recipe: str, source: Path | str, items: int, folder: Path) -> Build:
    """A build with seed 0."""
    return build(recipe, str(source), folder / f"my_{recipe}_{items}", items=items, seed=0)


Row = tuple[str, str, str, str]


def pope(data: Path, items: int, folder: Path) -> Iterable[Row]:
    """Words alone, part by part."""
    ours = {
        part_words.part: part_words
        for part_words in built(
            "pope", data / "coco" / "objects.json", items, folder
        ).measured.words
    }
    for part, value in released_pope(data):
        yield f"POPE {part}", "words alone", f"{value:.3f}", f"{ours[part].accuracy:.3f}"


def hal_eval(data: Path, items: int, folder: Path) -> Iterable[Row]:
    """Counting words, kind by kind; and what the words alone get of ours."""
    captions = built(
        "halcaption", data / "hal_eval" / "in_domain_evaluation.json", items, folder
    ).measured
    lengths = {part_lengths.part: part_lengths.accuracy for part_lengths in captions.lengths}
    names = {
        "Objective": "object",
        "Attributive": "attribute",
        "Spatial Relationship": "relation",
        "Event": "event",
    }
    for kind, value in released_lengths(data):
        our_accuracy = lengths.get(names[kind])
        yield (
            f"Hal-Eval {names[kind]}",
            "counting words",
            f"{value:.3f}",
            "none" if our_accuracy is None else f"{our_accuracy:.3f}",
        )
    for part_words in captions.words:
        yield f"Hal-Eval {part_words.part}", "words alone", "", f"{part_words.accuracy:.3f}"


def amber(data: Path, items: int, folder: Path) -> Iterable[Row]:
    """Yes and no of each kind, and the words alone of ours."""
    measured = built("amber", data / "amber", items, folder).measured
    yield from labels_of_amber(data, measured.by_label)
    for part_words in measured.words:
        yield f"AMBER {part_words.part}", "words alone", "", f"{part_words.accuracy:.3f}"


def valor(data: Path, items: int, folder: Path) -> Iterable[Row]:
    """How many objects the pictures of the two arms have."""
    measured = built("valor", data / "coco" / "objects.json", items, folder).measured
    a, b = (
        measured.draft.measures[f"objects in {arm} pictures"] for arm in ("selected", "control")
    )
    yield (
        "VALOR",
        "objects of a control picture less those of a selected one",
        "-1.69 (paper)",
        f"{b - a:+.2f}",
    )
    yield "VALOR", "pictures that were selected", "", measured.notes[0]


def hqh(_: Path, items: int, folder: Path) -> Iterable[Row]:
    """How many items each type has."""
    measured = built("hqh", "shapes", items, folder).measured
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(measured.part_counts.items()))
    yield "HQH", "items of each type", "no rules published", counts


PARTS = {"pope": pope, "hal_eval": hal_eval, "amber": amber, "valor": valor, "hqh": hqh}


def labels_of_amber(data: Path, ours: Any) -> Iterable[tuple[str, str, str, str]]:
    """Yes and no of each kind, in the release and in ours."""
    kinds = {
        "existence": ("discriminative-hallucination",),
        "state": ("discriminative-attribute-state",),
        "number": ("discriminative-attribute-number",),
        "action": ("discriminative-attribute-action",),
        "relation": ("discriminative-relation", "relation"),
    }
    rows = json.loads((data / "amber" / "annotations.json").read_text("utf-8"))
    for part, types in kinds.items():
        counts = Counter(str(row["truth"]).lower() for row in rows if row["type"] in types)
        our_labels = ours.get(part, {})
        yield (
            f"AMBER {part}",
            "yes / no",
            f"{counts['yes']} / {counts['no']}",
            f"{our_labels.get('yes', 0)} / {our_labels.get('no', 0)}",
        )


def main() -> None:
    """Print the table as Markdown."""
    data_dir = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HQM_DATA", "")
    if not data_dir or not Path(data_dir).is_dir():
        raise SystemExit("Name the folder of the released data, or set HQM_DATA.")
    items = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    print("| benchmark | measured | released | ours |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for part in sys.argv[3:] or PARTS:
            for row in PARTS[part](Path(data_dir), items, Path(folder)):
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
