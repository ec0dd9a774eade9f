"""Small annotations in the releases' own layouts, written by hand from their documentation, and
drawn pictures for COCO's.

python tests/annotations/make.py                        writes coco/, visual_genome/, gqa/ and amber/ beside this file
python tests/annotations/make.py pictures FOLDER        draws the pictures of coco/
python tests/annotations/make.py answers BENCHMARK      prints answers of six made-up models to the items of a built benchmark

The layouts: cocodataset.org/#format-data; homes.cs.washington.edu/~ranjay/visualgenome/api.html
(version 1.4); cs.stanford.edu/people/dorarad/gqa/download.html; github.com/junyangwang0410/AMBER
(data/).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent
CLASSES = {
    "person": "person",
    "dog": "animal",
    "cat": "animal",
    "bus": "vehicle",
    "umbrella": "accessory",
    "cup": "kitchen",
    "kite": "sports",
    "bench": "outdoor",
}
COLORS = {
    "person": "orange",
    "dog": "brown",
    "cat": "grey",
    "bus": "red",
    "umbrella": "blue",
    "cup": "white",
    "kite": "yellow",
    "bench": "green",
}


def coco(pictures: int = 60) -> dict[str, Any]:
    """Instances and captions of drawn pictures: 1 to 4 things of eight classes, apart from each
    other.
    """
    rng = np.random.default_rng(7)
    names = list(CLASSES)
    images, instances, captions = [], [], []
    for number in range(1, pictures + 1):
        images.append(
            {
                "license": 4,
                "file_name": f"COCO_val2014_{number:012}.jpg",
                "height": 120,
                "width": 160,
                "id": number,
            }
        )
        cells = rng.permutation(12)[: int(rng.integers(1, 5))]
        names_in_picture = []
        for cell in cells.tolist():
            name = names[
                int(rng.choice(len(names), p=[0.3, 0.2, 0.15, 0.1, 0.08, 0.07, 0.05, 0.05]))
            ]
            side = int(rng.integers(16, 37))
            x, y = cell % 4 * 40 + 1, cell // 4 * 40 + 1
            names_in_picture.append(name)
            instances.append(
                {
                    "segmentation": [[x, y, x + side, y, x + side, y + side, x, y + side]],
                    "area": side * side,
                    "iscrowd": 0,
                    "image_id": number,
                    "bbox": [x, y, side, side],
                    "category_id": 10 * (names.index(name) + 1),
                    "id": 1000 + len(instances),
                }
            )
        listed = " and ".join(
            f"a {name}" if name != "umbrella" else "an umbrella"
            for name in dict.fromkeys(names_in_picture)
        )
        captions.append(
            {"image_id": number, "id": number, "caption": f"A drawing of {listed} on a grey wall ."}
        )
    info = {
        "description": "drawn",
        "url": "",
        "version": "1.0",
        "year": 2014,
        "contributor": "",
        "date_created": "",
    }
    licences = [
        {
            "url": "http://creativecommons.org/licenses/by/2.0/",
            "id": 4,
            "name": "Attribution License",
        }
    ]
    categories = [
        {"supercategory": CLASSES[name], "id": 10 * (i + 1), "name": name}
        for i, name in enumerate(names)
    ]
    shared = {"info": info, "licenses": licences, "images": images}
    return {
        "instances_val2014.json": {**shared, "annotations": instances, "categories": categories},
        "captions_val2014.json": {**shared, "annotations": captions},
    }


def draw_coco(folder: Path, annotations: dict[str, Any]) -> None:
    """Draw the pictures of `coco`: a filled square for each thing, in the color of its class."""
    from PIL import Image, ImageDraw

    instances = annotations["instances_val2014.json"]
    names = {category["id"]: category["name"] for category in instances["categories"]}
    folder.mkdir(parents=True, exist_ok=True)
    for row in instances["images"]:
        picture = Image.new("RGB", (row["width"], row["height"]), (150, 150, 150))
        pen = ImageDraw.Draw(picture)
        for annotation in instances["annotations"]:
            if annotation["image_id"] == row["id"]:
                x, y, width, height = annotation["bbox"]
                pen.rectangle(
                    (x, y, x + width, y + height), fill=COLORS[names[annotation["category_id"]]]
                )
        picture.save(folder / row["file_name"], "JPEG", quality=90)


def visual_genome() -> dict[str, Any]:
    """Two pictures: a man who rides a brown horse before a sign that says STOP, and a red bus
    beside a tree.
    """
    man = {
        "object_id": 1,
        "x": 40,
        "y": 10,
        "w": 60,
        "h": 120,
        "names": ["man"],
        "synsets": ["man.n.01"],
    }
    horse = {
        "object_id": 2,
        "x": 30,
        "y": 90,
        "w": 120,
        "h": 100,
        "names": ["horse"],
        "synsets": ["horse.n.01"],
    }
    sign = {
        "object_id": 3,
        "x": 300,
        "y": 20,
        "w": 40,
        "h": 40,
        "names": ["sign"],
        "synsets": ["sign.n.02"],
    }
    bus = {
        "object_id": 4,
        "x": 10,
        "y": 50,
        "w": 100,
        "h": 80,
        "names": ["bus"],
        "synsets": ["bus.n.01"],
    }
    tree = {
        "object_id": 5,
        "x": 200,
        "y": 40,
        "w": 60,
        "h": 100,
        "names": ["tree"],
        "synsets": ["tree.n.01"],
    }
    man_of_relation = {**man, "name": "man"}
    return {
        "objects.json": [
            {
                "image_id": 61,
                "objects": [man, horse, sign],
                "image_url": "https://cs.stanford.edu/people/rak248/VG_100K/61.jpg",
            },
            {
                "image_id": 62,
                "objects": [bus, tree],
                "image_url": "https://cs.stanford.edu/people/rak248/VG_100K/62.jpg",
            },
        ],
        "attributes.json": [
            {
                "image_id": 61,
                "attributes": [
                    {**horse, "attributes": ["brown"]},
                    {**man, "attributes": ["sitting"]},
                    {**sign, "attributes": ["red", "round"]},
                ],
            },
            {
                "image_id": 62,
                "attributes": [
                    {**bus, "attributes": ["red"]},
                    {**tree, "attributes": ["green", "tall"]},
                ],
            },
        ],
        "relationships.json": [
            {
                "image_id": 61,
                "relationships": [
                    {
                        "relationship_id": 900,
                        "predicate": "riding",
                        "synsets": ["ride.v.01"],
                        "subject": man_of_relation,
                        "object": {**horse, "name": "horse"},
                    }
                ],
            },
            {
                "image_id": 62,
                "relationships": [
                    {
                        "relationship_id": 901,
                        "predicate": "to the left of",
                        "synsets": [],
                        "subject": {**bus, "name": "bus"},
                        "object": {**tree, "name": "tree"},
                    }
                ],
            },
        ],
        "region_descriptions.json": [
            {
                "id": 61,
                "regions": [
                    {
                        "region_id": 70,
                        "image_id": 61,
                        "phrase": "the sign says STOP",
                        "x": 300,
                        "y": 20,
                        "width": 40,
                        "height": 40,
                    },
                    {
                        "region_id": 71,
                        "image_id": 61,
                        "phrase": "a man riding a brown horse",
                        "x": 30,
                        "y": 10,
                        "width": 120,
                        "height": 180,
                    },
                ],
            },
            {
                "id": 62,
                "regions": [
                    {
                        "region_id": 72,
                        "image_id": 62,
                        "phrase": "a red bus",
                        "x": 10,
                        "y": 50,
                        "width": 100,
                        "height": 80,
                    }
                ],
            },
        ],
        "image_data.json": [
            {
                "image_id": 61,
                "url": "https://cs.stanford.edu/people/rak248/VG_100K/61.jpg",
                "width": 400,
                "height": 200,
                "coco_id": None,
                "flickr_id": None,
            },
            {
                "image_id": 62,
                "url": "https://cs.stanford.edu/people/rak248/VG_100K/62.jpg",
                "width": 300,
                "height": 200,
                "coco_id": None,
                "flickr_id": None,
            },
        ],
    }


def gqa() -> dict[str, Any]:
    """Two pictures with objects, attributes, relations, and where and in which weather they were
    taken.
    """
    return {
        "val_sceneGraphs.json": {
            "2407890": {
                "width": 640,
                "height": 480,
                "location": "outdoors",
                "weather": "cloudy",
                "objects": {
                    "271881": {
                        "name": "chair",
                        "x": 220,
                        "y": 310,
                        "w": 80,
                        "h": 100,
                        "attributes": ["brown", "wooden"],
                        "relations": [{"object": "271882", "name": "to the left of"}],
                    },
                    "271882": {
                        "name": "table",
                        "x": 330,
                        "y": 320,
                        "w": 150,
                        "h": 90,
                        "attributes": ["white"],
                        "relations": [{"object": "271881", "name": "to the right of"}],
                    },
                },
            },
            "2407891": {
                "width": 500,
                "height": 375,
                "location": "indoors",
                "objects": {
                    "5": {
                        "name": "girl",
                        "x": 10,
                        "y": 20,
                        "w": 100,
                        "h": 200,
                        "attributes": ["standing"],
                        "relations": [{"object": "6", "name": "holding"}],
                    },
                    "6": {
                        "name": "umbrella",
                        "x": 30,
                        "y": 0,
                        "w": 90,
                        "h": 60,
                        "attributes": ["blue"],
                        "relations": [],
                    },
                },
            },
        }
    }


def amber() -> dict[str, Any]:
    """Eight pictures of AMBER's layout: what is there, what may be made up, and questions with
    their answers.
    """
    queries: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []

    def ask(image: str, query: str, kind: str, **answer: Any) -> None:
        queries.append({"id": len(queries) + 1, "image": image, "query": query})
        answers.append({"id": len(answers) + 1, "type": kind, **answer})

    for i in range(8):
        image, sunny, dogs = f"AMBER_{i + 1}.jpg", i % 2 == 0, i % 4 < 2
        present = ["sky", "grass", *(["dog"] if dogs else ["cat"]), "person"]
        # one word is listed both as true and as made up, as 63 are in the release
        ask(
            image,
            "Describe this image.",
            "generative",
            truth=present,
            hallu=["cat" if dogs else "dog", "cloud", "grass"],
        )
        for value, holds in (("sunny", sunny), ("cloudy", not sunny)):
            ask(
                image,
                f"Is the sky {value} in this image?",
                "discriminative-attribute-state",
                truth="yes" if holds else "no",
            )
        animal, number = "dogs" if dogs else "cats", 2 if i < 4 else 3
        for word in ("two", "three"):
            right = {"two": 2, "three": 3}[word] == number
            ask(
                image,
                f"Are there {word} {animal} in this image?",
                "discriminative-attribute-number",
                truth="yes" if right else "no",
            )
        for value in ("sit", "stand"):
            right = (value == "sit") == (i % 3 == 0)
            ask(
                image,
                f"Does the person {value} in this image?",
                "discriminative-attribute-action",
                truth="yes" if right else "no",
            )
        ask(
            image,
            f"Is there a {'cat' if dogs else 'dog'} in this image?",
            "discriminative-hallucination",
            truth="no",
        )
        touches = i % 2 == 1
        kind = "discriminative-relation" if touches else "relation"
        ask(
            image,
            "Is there direct contact between the person and grass?",
            kind,
            truth="yes" if touches else "no",
        )
    return {"annotations.json": answers, "query/query_all.json": queries}


def write(folder: Path = FOLDER) -> None:
    """Write every release's files below a folder."""
    for name, files in (
        ("coco", coco()),
        ("visual_genome", visual_genome()),
        ("gqa", gqa()),
        ("amber", amber()),
    ):
        for file, content in files.items():
            path = folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content) + "\n", encoding="utf-8")


def answers(benchmark: Path) -> list[dict[str, Any]]:
    """Answers of six made-up models that are right in 65 to 90 of 100 cases, in two runs and two
    wordings.
    """
    rng = np.random.default_rng(11)
    items = [
        json.loads(line) for line in (benchmark / "items.jsonl").read_text("utf-8").splitlines()
    ]
    opposite = {"yes": "no", "no": "yes"}
    records = []
    for model in range(6):
        knows = rng.random(len(items)) < 0.65 + 0.05 * model
        for form, run in (("original", 0), ("original", 1), ("wording", 0)):
            for item, knows_answer in zip(items, knows.tolist(), strict=True):
                slip = rng.random() < 0.05
                reply = item["target"] if knows_answer != slip else opposite[item["target"]]
                record = {
                    "item": item["id"],
                    "respondent": f"model-{model}",
                    "form": form,
                    "run": run,
                }
                records.append({**record, "answer": f"{reply.capitalize()}."})
    return records


def main() -> None:
    """Do what the command line says."""
    if sys.argv[1:2] == ["pictures"]:
        draw_coco(Path(sys.argv[2]), coco())
    elif sys.argv[1:2] == ["answers"]:
        print("\n".join(json.dumps(row) for row in answers(Path(sys.argv[2]))))
    else:
        write()


if __name__ == "__main__":
    main()
