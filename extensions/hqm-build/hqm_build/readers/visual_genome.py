"""Visual Genome: the files of homes.cs.washington.edu/~ranjay/visualgenome/api.html, version 1.4.

objects.json: [{image_id, objects: [{object_id, x, y, w, h, names, synsets}]}]; attributes.json:
[{image_id, attributes: [an object with its attributes]}]; relationships.json: [{image_id,
relationships: [{relationship_id, predicate, subject, object}]}]; region_descriptions.json: [{id,
regions: [{region_id, phrase, x, y, width, height}]}]; image_data.json: [{image_id, width, height,
url}]. No object is annotated to completeness; what the regions of a picture say of numbers, texts,
the setting and conspicuous things, `hqm_build.phrases` understands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hqm.files.records import read_json
from hqm_build.graph import Attribute, Box, Image, Object, Relation, SceneGraph
from hqm_build.lexicon import kind_of_attribute
from hqm_build.phrases import Region, read_phrases
from hqm_build.readers.coco import address_of, pixels
from hqm_build.source import Reader, Source, digest_of, number, rows, text

_FILES = ("objects", "attributes", "relationships", "region_descriptions", "image_data")
_CITATION = (
    "Krishna et al. (2017), Visual Genome (International Journal of Computer Vision 123, 32-73)"
)


def is_visual_genome(path: Path) -> bool:
    """Whether a folder has the files of the release."""
    names = {name for name in _FILES if path.is_dir() and (path / f"{name}.json").is_file()}
    if not names & {"objects", "attributes", "relationships", "region_descriptions"}:
        return False
    return isinstance(read_json(path / f"{min(names)}.json"), list)


def read_visual_genome(path: Path) -> Source:
    """Scene graphs from those of the files that are there."""
    files = {name: path / f"{name}.json" for name in _FILES if (path / f"{name}.json").is_file()}
    tables = {name: rows(read_json(file), file.name, file) for name, file in files.items()}
    images: dict[str, dict[str, Any]] = {}
    for row in tables.get("image_data", []):
        images[text(row, "image_id", "a picture", files["image_data"])] = row
    objects = _read_objects(tables, files)
    relations: dict[str, list[Relation]] = defaultdict(list)
    for row in tables.get("relationships", []):
        file = files["relationships"]
        key = text(row, "image_id", "a picture", file)
        for record in rows(row.get("relationships"), f"relationships of the picture {key}", file):
            relations[key].append(_relation(record, objects[key], file))
    regions: dict[str, list[Region]] = defaultdict(list)
    for row in tables.get("region_descriptions", []):
        file = files["region_descriptions"]
        key = text(row, "id" if "id" in row else "image_id", "a picture", file)
        for record in rows(row.get("regions"), f"regions of the picture {key}", file):
            phrase = text(record, "phrase", "a region", file)
            regions[key].append((phrase, _box(record, "width", "height", file)))
    keys = dict.fromkeys([*images, *objects, *relations, *regions])
    image_file = files.get("image_data", path)
    graphs = [
        _graph(key, images.get(key, {}), objects[key], relations[key], regions[key], image_file)
        for key in keys
    ]
    return Source(
        name=str(path),
        reader="visual_genome",
        digest=digest_of(list(files.values())),
        graphs=tuple(graphs),
        licence="CC-BY-4.0",
        citation=_CITATION,
    )


def _read_objects(
    tables: Mapping[str, list[dict[str, Any]]], files: Mapping[str, Path]
) -> dict[str, dict[str, Object]]:
    """Picture -> id -> object, of objects.json and attributes.json."""
    objects: dict[str, dict[str, Object]] = defaultdict(dict)
    for name in ("objects", "attributes"):
        for row in tables.get(name, []):
            key = text(row, "image_id", "a picture", files[name])
            for record in rows(row.get(name), f"{name} of the picture {key}", files[name]):
                obj = _object(record, files[name])
                # attributes.json repeats the objects, with their attributes
                if obj.attributes or obj.id not in objects[key]:
                    objects[key][obj.id] = obj
    return objects


def _relation(record: dict[str, Any], objects: dict[str, Object], file: Path) -> Relation:
    """A relation between two objects, which are added where objects.json does not list them."""
    ends = []
    for end in ("subject", "object"):
        end_record = rows([record.get(end)], f"the {end} of a relationship", file)[0]
        obj = _object(end_record, file)
        objects.setdefault(obj.id, obj)
        ends.append(obj.id)
    return Relation(
        id=text(record, "relationship_id", "a relationship", file),
        subject=ends[0],
        predicate=text(record, "predicate", "a relationship", file).lower(),
        object=ends[1],
    )


def _graph(
    key: str,
    row: dict[str, Any],
    objects: Mapping[str, Object],
    relations: Sequence[Relation],
    regions: Sequence[Region],
    file: Path,
) -> SceneGraph:
    """The scene graph of a picture; without annotated objects, that of its phrases."""
    described = read_phrases(regions)
    # objects and phrases must agree on a number, so that it can be asked for
    scene_objects = tuple(objects.values()) or described.objects
    scene_counts = Counter(obj.name for obj in scene_objects)
    described_counts = Counter(obj.name for obj in described.objects)
    return SceneGraph(
        image=Image(
            id=key,
            file=f"{key}.jpg",
            address=address_of(row.get("url")),
            width=pixels(row, "width", file),
            height=pixels(row, "height", file),
            exhaustive=described.exhaustive,
            counted=frozenset(
                name for name in described.counted if scene_counts[name] == described_counts[name]
            ),
        ),
        objects=scene_objects,
        relations=tuple(relations) if objects else described.relations,
        texts=described.texts,
        settings=described.settings,
        captions=tuple(phrase for phrase, _ in regions),
    )


def _object(record: dict[str, Any], file: Path) -> Object:
    names = record.get("names", record.get("name"))
    if isinstance(names, str):
        names = [names]
    elif not isinstance(names, list) or not names:
        # no name is refused as a field that is no text
        names = [None]
    values = record.get("attributes") or []
    if not isinstance(values, list):
        values = [values]
    attributes = _lower_texts(values, "attributes", file)
    return Object(
        id=text(record, "object_id", "an object", file),
        names=tuple(_lower_texts(names, "names", file)),
        box=_box(record, "w", "h", file),
        attributes=tuple(
            Attribute(value=value, kind=kind_of_attribute(value)) for value in attributes
        ),
    )


def _lower_texts(values: list[Any], field: str, file: Path) -> dict[str, None]:
    """The texts of a field in lower case, each once."""
    return dict.fromkeys(text({field: value}, field, "an object", file).lower() for value in values)


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
