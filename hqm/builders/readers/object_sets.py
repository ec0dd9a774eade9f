"""Sets of objects: a JSON file {image id: [class, ...]}, as CHAIR keeps COCO's objects.

Whether a class is there is known, not how often.
"""

from __future__ import annotations

from pathlib import Path

from hqm.builders.graph import Image, Object, SceneGraph
from hqm.builders.source import Reader, Source, digest_of, first_value, table, words
from hqm.files.records import read_json

_CITATION = "Lin et al. (2014), Microsoft COCO: Common Objects in Context (arXiv 1405.0312)"


def is_object_sets(path: Path) -> bool:
    """Whether a file's values are lists of words."""
    first = first_value(path, dict)
    return isinstance(first, list) and all(isinstance(word, str) for word in first)


def read_object_sets(path: Path) -> Source:
    """A scene graph for each picture; every class of the file is known to be there or not."""
    held = {
        key: dict.fromkeys(words(names, f"the objects of the picture {key!r:.40} are", path))
        for key, names in table(read_json(path), "the file", path).items()
    }
    classes = frozenset(name for names in held.values() for name in names)
    graphs = []
    for key, names in held.items():
        # the ids of COCO 2014 are its pictures' numbers
        of_coco = key.isascii() and key.isdecimal() and len(key) <= 12
        file = f"COCO_val2014_{int(key):012}.jpg" if of_coco else f"{key}.jpg"
        graphs.append(
            SceneGraph(
                image=Image(
                    id=key,
                    file=file,
                    address=f"http://images.cocodataset.org/val2014/{file}" if of_coco else "",
                    source=path.name,
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


READER = Reader(
    "object_sets", "a JSON file {image id: [class, ...]}", is_object_sets, read_object_sets
)
