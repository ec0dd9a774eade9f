"""VALOR: the files of `human_annotation/`: what people wrote of objects, colours, people and
positions.

attribute_object.json: {image: {number: "(red, apple)"}}; object_existence.jsonl: {image_id,
gt_objects}; attribute_people.json: {image: {number: {person, object, action}}} (once spelt
`perosn`). The relations are free sentences and are kept as captions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from hqm.errors import DataError
from hqm.files.records import read_json, read_records
from hqm_build.graph import Attribute, Image, Object, SceneGraph
from hqm_build.lexicon import kind_of_attribute, participle
from hqm_build.source import Reader, Source, digest_of, table, text

_FILES = (
    "object_existence.jsonl",
    "attribute_object.json",
    "attribute_people.json",
    "relation_positional.json",
)
_PAIR = re.compile(r"\(([^(),]+),\s*([^(),]+)\)")
_CITATION = "Qiu et al. (2024), VALOR-Eval (arXiv 2404.13874)"


def _folder(path: Path) -> Path:
    if (path / "human_annotation").is_dir():
        return path / "human_annotation"
    return path


def is_valor(path: Path) -> bool:
    """Whether a folder has at least one of the files."""
    return path.is_dir() and any((_folder(path) / name).is_file() for name in _FILES)


def read_valor(path: Path) -> Source:
    """A scene graph for each picture, from all files that have it."""
    files = [file for name in _FILES if (file := _folder(path) / name).is_file()]
    objects: dict[str, list[Object]] = defaultdict(list)
    captions: dict[str, list[str]] = defaultdict(list)
    for file in files:
        if file.suffix == ".jsonl":
            for row in read_records(file):
                key = text(row, "image_id", "a row", file)
                names = row.get("gt_objects")
                if not isinstance(names, list) or not all(
                    isinstance(name, str) and name.strip() for name in names
                ):
                    raise DataError(
                        f"the objects of the picture {key} are {names!r:.60}",
                        location=str(file),
                        remedy="Write a list of words.",
                    )
                objects[key] += [
                    Object(id=f"object-{i}", names=(" ".join(name.lower().split()),))
                    for i, name in enumerate(names)
                ]
            continue
        for key, row in table(read_json(file), "the file", file).items():
            for number, annotation in table(row, f"the picture {key}", file).items():
                if file.name.startswith("relation"):
                    phrases = annotation if isinstance(annotation, list) else []
                    captions[key] += [phrase for phrase in phrases if isinstance(phrase, str)]
                elif isinstance(annotation, dict):
                    objects[key] += _person(f"person-{number}", annotation, key, file)
                else:
                    pairs = text({"said": annotation}, "said", key, file)
                    objects[key] += _pairs(f"thing-{number}", pairs)
    graphs = [
        SceneGraph(
            image=Image(id=key, file=f"{key}.jpg"),
            objects=tuple(objects[key]),
            captions=tuple(captions[key]),
        )
        for key in dict.fromkeys([*objects, *captions])
    ]
    return Source(
        name=str(path),
        reader="valor",
        digest=digest_of(files),
        graphs=tuple(graphs),
        licence="CC-BY-NC-4.0",
        citation=_CITATION,
    )


def _pairs(name: str, annotation: str) -> list[Object]:
    return [
        Object(
            id=f"{name}-{i}",
            names=(noun.strip().lower(),),
            attributes=(
                Attribute(
                    value=value.strip().lower(), kind=kind_of_attribute(value.strip().lower())
                ),
            ),
        )
        for i, (value, noun) in enumerate(_PAIR.findall(annotation))
        if value.strip() and noun.strip()
    ]


def _person(name: str, annotation: dict[str, Any], key: str, file: Path) -> list[Object]:
    # some records of the release have `perosn`
    wearer = text(
        annotation, "person" if "person" in annotation else "perosn", f"the picture {key}", file
    ).lower()
    phrases = map(str.strip, str(annotation.get("action") or "").lower().split(","))
    actions = filter(None, map(participle, filter(None, phrases)))
    return [
        Object(
            id=name,
            names=(wearer,),
            attributes=tuple(
                Attribute(value=value, kind="action") for value in dict.fromkeys(actions)
            ),
        ),
        *_pairs(name, str(annotation.get("object") or "")),
    ]


READER = Reader("valor", "VALOR's folder human_annotation/", is_valor, read_valor)
