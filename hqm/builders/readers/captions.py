"""Captions of pictures, as releases have them: HQH's regions, and Hal-Eval's true and wrong
captions.

HQH's `image_data.json` is {image id: {caption, image_information}}, regions of Visual Genome as
lines of text. A line is `phrase X:196 Y:223 Width:149 Height:149`. The release writes the width
twice, so that no height is known: regions give phrases and what is written in the picture, and no
boxes. Hal-Eval has [{image, caption, hal_caption: [{type, caption}]}], true captions with those
that the release calls wrong.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from hqm.builders.graph import Image, SceneGraph, Text
from hqm.builders.readers.visual_genome import _SAYS
from hqm.builders.source import Reader, Source, digest_of, first_value, rows, table, text
from hqm.files.records import read_json

_LINE = re.compile(r"\s*X:\s*-?\d+\s*Y:\s*-?\d+\s*Width:\s*\d+\s*Height:\s*\d+\s*")
_OF_HQH = "Yan et al. (2024), HQH (arXiv 2406.17115); regions of Visual Genome"
_OF_HAL_EVAL = "Jiang et al. (2024), Hal-Eval (arXiv 2402.15721)"


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
                string=match["string"].strip(),
                carrier=match["carrier"].strip().lower(),
            )
            for i, phrase in enumerate(phrases)
            if (match := _SAYS.match(phrase)) is not None and match["string"].strip()
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
        citation=_OF_HQH,
    )


REGIONS = Reader("regions", "HQH's image_data.json", is_regions, read_regions)


def is_hal_eval(path: Path) -> bool:
    """Whether a file is a list of captions with wrong ones."""
    first = first_value(path, list)
    return isinstance(first, dict) and "hal_caption" in first


def read_hal_eval(path: Path) -> Source:
    """A scene graph with the true caption of each picture; the wrong ones stand beside."""
    graphs: dict[str, SceneGraph] = {}
    wrong: dict[str, tuple[tuple[str, str], ...]] = {}
    for i, row in enumerate(rows(read_json(path), "the file", path), 1):
        what = f"row {i}"
        image = text(row, "image", what, path)
        made_up = rows(row.get("hal_caption"), f"hal_caption of {what}", path)
        key = f"{i}-{PurePosixPath(image).stem}"
        graphs[key] = SceneGraph(
            image=Image(id=key, file=PurePosixPath(image).name, source="Hal-Eval"),
            captions=(text(row, "caption", what, path),),
        )
        wrong[key] = tuple(
            (text(each, "type", what, path), text(each, "caption", what, path)) for each in made_up
        )
    return Source(
        name=str(path),
        reader="hal_eval",
        digest=digest_of([path]),
        graphs=tuple(graphs.values()),
        licence="Apache-2.0",
        citation=_OF_HAL_EVAL,
        wrong=wrong,
    )


HAL_EVAL = Reader("hal_eval", "Hal-Eval's in_domain_evaluation.json", is_hal_eval, read_hal_eval)
