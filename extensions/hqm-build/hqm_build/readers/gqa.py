"""GQA: `train_sceneGraphs.json` and `val_sceneGraphs.json`, as
cs.stanford.edu/people/dorarad/gqa/download.html describes them.

{image id: {width, height, location, weather, objects: {object id: {name, x, y, w, h, attributes:
[...], relations: [{name, object}]}}}}; location and weather are optional.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hqm.errors import DataError
from hqm.files.records import read_json
from hqm_build.graph import Attribute, Box, Image, Object, Relation, SceneGraph, Setting
from hqm_build.lexicon import kind_of_attribute
from hqm_build.source import Reader, Source, digest_of, first_value, number, rows, table, text

_CITATION = "Hudson and Manning (2019), GQA (arXiv 1902.09506)"


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*sceneGraphs*.json"))
    return [path]


def is_gqa(path: Path) -> bool:
    """Whether there is a file of scene graphs."""
    files = _files(path)
    first = first_value(files[0], dict) if files else None
    return isinstance(first, dict) and "objects" in first


def read_gqa(path: Path) -> Source:
    """Scene graphs from one file, or from all in a folder."""
    graphs: dict[str, SceneGraph] = {}
    for file in _files(path):
        for key, row in table(read_json(file), "the file", file).items():
            graphs[key] = _graph(key, table(row, f"the picture {key}", file), file)
    return Source(
        name=str(path),
        reader="gqa",
        digest=digest_of(_files(path)),
        graphs=tuple(graphs.values()),
        licence="CC-BY-4.0",
        citation=_CITATION,
    )


def _graph(key: str, row: dict[str, Any], file: Path) -> SceneGraph:
    records = table(row.get("objects"), f"objects of the picture {key}", file)
    objects, relations = [], []
    for name, record in records.items():
        subject = f"the object {name} of the picture {key}"
        fields = table(record, subject, file)
        x, y, width, height = (number(fields, side, subject, file) for side in ("x", "y", "w", "h"))
        values = fields.get("attributes") or []
        if not isinstance(values, list):
            raise DataError(
                f"the attributes of {subject} are {values!r:.60}",
                location=str(file),
                remedy="Write a list.",
            )
        attribute_values = [
            text({"attributes": value}, "attributes", subject, file).lower() for value in values
        ]
        objects.append(
            Object(
                id=name,
                names=(text(fields, "name", subject, file).lower(),),
                box=Box(x=x, y=y, width=width, height=height),
                attributes=tuple(
                    Attribute(value=v, kind=kind_of_attribute(v))
                    for v in dict.fromkeys(attribute_values)
                ),
            )
        )
        for i, relation in enumerate(
            rows(fields.get("relations") or [], f"the relations of {subject}", file)
        ):
            target_id = text(relation, "object", subject, file)
            if target_id not in records:
                raise DataError(
                    f"{subject} has a relation to {target_id!r:.40}, which is no object of the"
                    " picture",
                    location=str(file),
                    remedy="Correct the relation.",
                )
            relations.append(
                Relation(
                    id=f"{name}-{i}",
                    subject=name,
                    predicate=text(relation, "name", subject, file).lower(),
                    object=target_id,
                )
            )
    width, height = (
        int(number(row, side, f"the picture {key}", file)) for side in ("width", "height")
    )
    return SceneGraph(
        image=Image(id=key, file=f"{key}.jpg", width=width, height=height),
        objects=tuple(objects),
        relations=tuple(relations),
        settings=tuple(
            Setting(
                kind={"location": "place"}.get(kind, kind),
                value=text(row, kind, f"the picture {key}", file),
            )
            for kind in ("location", "weather")
            if row.get(kind)
        ),
    )


READER = Reader("gqa", "train_sceneGraphs.json or val_sceneGraphs.json", is_gqa, read_gqa)
