"""HQH's `image_data.json`: {image id: {caption, image_information}}, regions of Visual Genome as
lines of text.

A line is `phrase X:196 Y:223 Width:149 Height:149`. The release writes the width twice, so that no
height is known: regions give phrases and what is written in the picture, and no boxes.
"""

from __future__ import annotations

import re
from pathlib import Path

from hqm.builders.graph import Image, SceneGraph, Text
from hqm.builders.readers.visual_genome import _SAYS
from hqm.builders.source import Reader, Source, digest_of, first_value, table, text
from hqm.files.records import read_json

_LINE = re.compile(r"\s*X:\s*-?\d+\s*Y:\s*-?\d+\s*Width:\s*\d+\s*Height:\s*\d+\s*")
_CITATION = "Yan et al. (2024), HQH (arXiv 2406.17115); regions of Visual Genome"


def is_regions(path: Path) -> bool:
    """Whether a file's values have a caption and regions."""
    first = first_value(path, dict)
    return isinstance(first, dict) and "image_information" in first


def read_regions(path: Path) -> Source:
    """A scene graph for each picture: captions, and texts that a region says are written
    somewhere.
    """
    graphs = []
    for key, row in table(read_json(path), "the file", path).items():
        what = f"the picture {key}"
        record = table(row, what, path)
        regions = text(record, "image_information", what, path)
        phrases = [" ".join(phrase.split()) for phrase in _LINE.split(regions) if phrase.strip()]
        texts = [
            Text(
                id=f"region-{i}",
                string=said["string"].strip(),
                carrier=said["carrier"].strip().lower(),
            )
            for i, phrase in enumerate(phrases)
            if (said := _SAYS.match(phrase)) is not None and said["string"].strip()
        ]
        graphs.append(
            SceneGraph(
                image=Image(id=key, file=f"{key}.jpg", source="Visual Genome"),
                captions=(text(record, "caption", what, path), *phrases),
                texts=tuple(texts),
            )
        )
    return Source(
        name=str(path),
        reader="regions",
        digest=digest_of([path]),
        graphs=tuple(graphs),
        licence="CC-BY-4.0 (Visual Genome)",
        citation=_CITATION,
    )


READER = Reader("regions", "HQH's image_data.json", is_regions, read_regions)
