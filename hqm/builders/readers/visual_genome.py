"""Visual Genome: the files of homes.cs.washington.edu/~ranjay/visualgenome/api.html, version 1.4.

objects.json: [{image_id, objects: [{object_id, x, y, w, h, names, synsets}]}]; attributes.json:
[{image_id, attributes: [an object with its attributes]}]; relationships.json: [{image_id,
relationships: [{relationship_id, predicate, subject, object}]}]; region_descriptions.json: [{id,
regions: [{region_id, phrase, x, y, width, height}]}]; image_data.json: [{image_id, width, height,
url}]. No object is annotated to completeness; what the regions of a picture say of numbers, texts,
the setting and conspicuous things, `hqm.builders.phrases` understands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from hqm.builders.graph import Attribute, Box, Image, Object, Relation, SceneGraph
from hqm.builders.lexicon import kind_of_attribute
from hqm.builders.phrases import described
from hqm.builders.readers.coco import address_of
from hqm.builders.source import Reader, Source, digest_of, number, rows, text
from hqm.files.records import read_json

_FILES = ("objects", "attributes", "relationships", "region_descriptions", "image_data")
_CITATION = (
    "Krishna et al. (2017), Visual Genome (International Journal of Computer Vision 123, 32-73)"
)


def is_visual_genome(path: Path) -> bool:
    """Whether a folder has the files of the release."""
    there = {name for name in _FILES if path.is_dir() and (path / f"{name}.json").is_file()}
    if not there & {"objects", "attributes", "relationships", "region_descriptions"}:
        return False
    return isinstance(read_json(path / f"{min(there)}.json"), list)


def read_visual_genome(path: Path) -> Source:
    """Scene graphs from those of the files that are there."""
    files = {name: path / f"{name}.json" for name in _FILES if (path / f"{name}.json").is_file()}
    held = {name: rows(read_json(file), file.name, file) for name, file in files.items()}
    images: dict[str, dict[str, Any]] = {}
    for row in held.get("image_data", []):
        images[text(row, "image_id", "a picture", files["image_data"])] = row
    objects: dict[str, dict[str, Object]] = defaultdict(dict)
    for name in ("objects", "attributes"):
        for row in held.get(name, []):
            key = text(row, "image_id", "a picture", files[name])
            for record in rows(row.get(name), f"{name} of the picture {key}", files[name]):
                thing = _object(record, files[name])
                before = objects[key].get(thing.id)
                # attributes.json repeats the objects, with their attributes
                objects[key][thing.id] = thing if before is None or thing.attributes else before
    relations: dict[str, list[Relation]] = defaultdict(list)
    for row in held.get("relationships", []):
        file = files["relationships"]
        key = text(row, "image_id", "a picture", file)
        for record in rows(row.get("relationships"), f"relationships of the picture {key}", file):
            ends = []
            for end in ("subject", "object"):
                thing = _object(
                    rows([record.get(end)], f"the {end} of a relationship", file)[0], file
                )
                objects[key].setdefault(thing.id, thing)
                ends.append(thing.id)
            name = text(record, "relationship_id", "a relationship", file)
            relations[key].append(
                Relation(
                    id=name,
                    subject=ends[0],
                    predicate=text(record, "predicate", "a relationship", file).lower(),
                    object=ends[1],
                )
            )
    regions: dict[str, list[tuple[str, Box | None]]] = defaultdict(list)
    for row in held.get("region_descriptions", []):
        file = files["region_descriptions"]
        key = text(row, "id" if "id" in row else "image_id", "a picture", file)
        for record in rows(row.get("regions"), f"regions of the picture {key}", file):
            phrase = text(record, "phrase", "a region", file)
            regions[key].append((phrase, _box(record, "width", "height", file)))
    graphs = []
    for key in dict.fromkeys([*images, *objects, *relations, *regions]):
        row = images.get(key, {})
        file = files.get("image_data", path)
        wide, high = (
            int(number(row, side, "a picture", file)) if row.get(side) is not None else 0
            for side in ("width", "height")
        )
        phrases = described(regions[key])
        things = tuple(objects[key].values()) or phrases.objects
        of_class = Counter(thing.name for thing in things)
        number_of = Counter(thing.name for thing in phrases.objects)
        graphs.append(
            SceneGraph(
                image=Image(
                    id=key,
                    file=f"{key}.jpg",
                    address=address_of(row.get("url")),
                    width=wide,
                    height=high,
                    exhaustive=phrases.exhaustive,
                    counted=frozenset(
                        name for name in phrases.counted if of_class[name] == number_of[name]
                    ),
                ),
                objects=things,
                relations=tuple(relations[key]) if objects[key] else phrases.relations,
                texts=phrases.texts,
                settings=phrases.settings,
                captions=tuple(phrase for phrase, _ in regions[key]),
            )
        )
    return Source(
        name=str(path),
        reader="visual_genome",
        digest=digest_of(list(files.values())),
        graphs=tuple(graphs),
        licence="CC-BY-4.0",
        citation=_CITATION,
    )


def _object(record: dict[str, Any], file: Path) -> Object:
    names = record.get("names", record.get("name"))
    names = [names] if isinstance(names, str) else names
    attributes = record.get("attributes") or []
    values = [
        text({"attributes": value}, "attributes", "an object", file).lower()
        for value in (attributes if isinstance(attributes, list) else [attributes])
    ]
    return Object(
        id=text(record, "object_id", "an object", file),
        names=tuple(
            dict.fromkeys(
                text({"names": name}, "names", "an object", file).lower() for name in names
            )
            if isinstance(names, list) and names
            else (text({"names": None}, "names", "an object", file),)
        ),
        box=_box(record, "w", "h", file),
        attributes=tuple(
            Attribute(value=value, kind=kind_of_attribute(value)) for value in dict.fromkeys(values)
        ),
    )


def _box(record: dict[str, Any], wide: str, high: str, file: Path) -> Box | None:
    if any(record.get(name) is None for name in ("x", "y", wide, high)):
        return None
    x, y, width, height = (number(record, name, "a box", file) for name in ("x", "y", wide, high))
    return Box(x=x, y=y, width=width, height=height)


READER = Reader(
    "visual_genome",
    "a folder with objects.json, attributes.json, relationships.json, region_descriptions.json",
    is_visual_genome,
    read_visual_genome,
)
