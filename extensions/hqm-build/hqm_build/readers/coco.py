"""COCO: `instances_*.json` and `captions_*.json`, as cocodataset.org describes them under "Data
format".

instances: images (id, file_name, width, height, license), annotations (id, image_id, category_id,
bbox [x, y, width, height], iscrowd), categories (id, name, supercategory).
captions: images and annotations (image_id, caption). Every one of the categories is annotated in
every picture; those with a crowd are not counted.

Sets of objects are a JSON file {image id: [class, ...]}: whether a class is there is known, not how
often.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from hqm.errors import DataError
from hqm.files.cache import is_url
from hqm.files.records import read_json
from hqm_build.graph import Box, Image, Object, SceneGraph
from hqm_build.source import (
    Reader,
    Source,
    digest_of,
    first_value,
    number,
    rows,
    table,
    text,
    words,
)

_CITATION = "Lin et al. (2014), Microsoft COCO: Common Objects in Context (arXiv 1405.0312)"


def files_of(path: Path) -> list[Path]:
    """The files of annotations in a folder, or the file itself."""
    if path.is_dir():
        return sorted(path.glob("*.json"))
    return [path]


def is_coco(path: Path) -> bool:
    """Whether there are files of COCO's layout."""
    return any(_is_coco_file(file) for file in files_of(path))


def _is_coco_file(path: Path) -> bool:
    if path.suffix != ".json":
        return False
    with path.open("rb") as file:
        # a file of instances has hundreds of megabytes: its beginning shows the keys
        start = file.read(1 << 16)
    # AMBER's folder has an annotations.json too
    if path.parent.joinpath("query").is_dir():
        return False
    if b'"annotations"' not in start and b'"images"' not in start and b'"categories"' not in start:
        return False
    content = read_json(path)
    return isinstance(content, dict) and "annotations" in content and "images" in content


def read_coco(path: Path) -> Source:
    """Scene graphs from files of instances, of captions, or of both."""
    files = [file for file in files_of(path) if _is_coco_file(file) or not path.is_dir()]
    images: dict[str, dict[str, Any]] = {}
    objects: dict[str, list[Object]] = defaultdict(list)
    captions: dict[str, list[str]] = defaultdict(list)
    crowded: dict[str, set[str]] = defaultdict(set)
    classes: set[str] = set()
    complete: set[str] = set()
    for file in files:
        content = table(read_json(file), "the file", file)
        file_images = {}
        for row in rows(content.get("images"), "images", file):
            file_images[text(row, "id", "a picture", file)] = row
        # instances and captions of a picture lie in two files, each with its own list of pictures
        images |= {key: {**images.get(key, {}), **row} for key, row in file_images.items()}
        categories = {
            text(row, "id", "a category", file): text(row, "name", "a category", file)
            for row in rows(content.get("categories", []), "categories", file)
        }
        if categories:
            classes |= set(categories.values())
            complete |= set(file_images)
        for row in rows(content.get("annotations"), "annotations", file):
            key = text(row, "image_id", "an annotation", file)
            if key not in images:
                raise DataError(
                    f"the annotation {row.get('id')!r:.40} belongs to the picture {key!r:.40},"
                    " which is not listed",
                    location=str(file),
                    remedy="List the picture under images.",
                )
            if "caption" in row:
                captions[key].append(text(row, "caption", "an annotation", file))
                continue
            category = text(row, "category_id", "an annotation", file)
            if category not in categories:
                raise DataError(
                    f"the annotation {row.get('id')!r:.40} is of the category {category!r:.40},"
                    " which is not listed",
                    location=str(file),
                    remedy="List the category under categories.",
                )
            name = categories[category]
            if row.get("iscrowd"):
                crowded[key].add(name)
            objects[key].append(
                Object(
                    id=text(row, "id", "an annotation", file), names=(name,), box=_box(row, file)
                )
            )
    graphs = []
    for key, row in images.items():
        exhaustive = frozenset(classes) if key in complete else frozenset()
        graphs.append(
            SceneGraph(
                image=Image(
                    id=key,
                    file=str(row.get("file_name") or f"{key}.jpg"),
                    address=address_of(row.get("coco_url")),
                    width=pixels(row, "width", path),
                    height=pixels(row, "height", path),
                    exhaustive=exhaustive,
                    counted=exhaustive - crowded[key],
                ),
                objects=tuple(objects[key]),
                captions=tuple(captions[key]),
            )
        )
    return Source(
        name=str(path),
        reader="coco",
        digest=digest_of(files),
        graphs=tuple(graphs),
        licence="CC-BY-4.0 (annotations)",
        citation=_CITATION,
    )


def address_of(value: Any) -> str:
    """A web address, or nothing."""
    if isinstance(value, str) and is_url(value):
        return value
    return ""


def pixels(row: dict[str, Any], name: str, path: Path) -> int:
    """The width or height of a picture, or 0 where it is not given."""
    if row.get(name) is not None:
        return int(number(row, name, "a picture", path))
    return 0


def _box(row: dict[str, Any], path: Path) -> Box | None:
    box = row.get("bbox")
    if box is None:
        return None
    subject = f"the annotation {row.get('id')!r:.40}"
    if not isinstance(box, list) or len(box) != 4:
        raise DataError(
            f"the bbox of {subject} is {box!r:.60}",
            location=str(path),
            remedy="Write [x, y, width, height].",
        )
    x, y, width, height = (number({"bbox": side}, "bbox", subject, path) for side in box)
    return Box(x=x, y=y, width=width, height=height)


READER = Reader("coco", "instances_*.json, captions_*.json or a folder of both", is_coco, read_coco)


# --- sets of objects, as CHAIR keeps COCO's ---


def is_object_sets(path: Path) -> bool:
    """Whether a file's values are lists of words."""
    first = first_value(path, dict)
    return isinstance(first, list) and all(isinstance(word, str) for word in first)


def read_object_sets(path: Path) -> Source:
    """A scene graph for each picture; every class of the file is known to be there or not."""
    names_by_image = {
        key: dict.fromkeys(words(names, f"the objects of the picture {key!r:.40} are", path))
        for key, names in table(read_json(path), "the file", path).items()
    }
    classes = frozenset().union(*names_by_image.values())
    graphs = []
    for key, names in names_by_image.items():
        # the ids of COCO 2014 are its pictures' numbers
        has_coco_id = key.isascii() and key.isdecimal() and len(key) <= 12
        if has_coco_id:
            file = f"COCO_val2014_{int(key):012}.jpg"
        else:
            file = f"{key}.jpg"
        graphs.append(
            SceneGraph(
                image=Image(
                    id=key,
                    file=file,
                    address=f"http://images.cocodataset.org/val2014/{file}" if has_coco_id else "",
                    exhaustive=classes,
                ),
                objects=tuple(Object(id=name, names=(name,)) for name in names),
            )
        )
    return Source(
        name=str(path),
        reader="object_sets",
        digest=digest_of([path]),
        graphs=tuple(graphs),
        licence="CC-BY-4.0",
        citation=_CITATION,
    )


OBJECT_SETS = Reader(
    "object_sets", "a JSON file {image id: [class, ...]}", is_object_sets, read_object_sets
)
