"""Captions of pictures, as releases have them: HQH's regions, and Hal-Eval's true and wrong
captions.

HQH's `image_data.json` is {image id: {caption, image_information}}, regions of Visual Genome as
lines of text. A line is `phrase X:196 Y:223 Width:149 Height:149`. The release writes the width
twice, so that no height is known. `hqm.builders.phrases` says what is understood of the phrases.

Hal-Eval has [{image, caption, hal_caption: [{type, caption}]}], true captions with those that the
release calls wrong. The model that wrote these put slips of the true caption right without a word:
a true caption is left out if most of its wrong ones lack one of its words, and so is one with two
nouns that stand side by side in no other caption ("a ball building").
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path, PurePosixPath

from hqm.builders.graph import Box, Image, SceneGraph
from hqm.builders.lexicon import noun_pairs
from hqm.builders.phrases import described
from hqm.builders.source import Reader, Source, digest_of, first_value, rows, table, text
from hqm.files.records import read_json

_LINE = re.compile(r"\s*X:\s*(-?\d+)\s*Y:\s*(-?\d+)\s*Width:\s*(\d+)\s*Height:\s*\d+\s*")
_COCO = "http://images.cocodataset.org"
_OFTEN = 50
"""A word in so many captions is rarely a slip."""
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
        caption = text(record, "caption", what, path)
        pieces = _LINE.split(text(record, "image_information", what, path))
        regions: list[tuple[str, Box | None]] = []
        for phrase, *numbers in zip(*(pieces[i::4] for i in range(4)), strict=False):
            x, y, width = map(int, numbers)
            if phrase.strip():
                box = Box(x=x, y=y, width=width, height=0)
                regions.append((" ".join(phrase.split()), box))
        held = described(regions, caption)
        graphs.append(
            SceneGraph(
                image=Image(
                    id=key,
                    file=f"{key}.jpg",
                    exhaustive=held.exhaustive,
                    counted=held.counted,
                ),
                captions=(caption, *(phrase for phrase, _ in regions)),
                objects=held.objects,
                relations=held.relations,
                texts=held.texts,
                settings=held.settings,
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


def _words(caption: str) -> frozenset[str]:
    return frozenset(re.findall("[a-z']+", caption.lower()))


def is_hal_eval(path: Path) -> bool:
    """Whether a file is a list of captions with wrong ones."""
    first = first_value(path, list)
    return isinstance(first, dict) and "hal_caption" in first


def read_hal_eval(path: Path) -> Source:
    """A scene graph with the true caption of each picture."""
    graphs: dict[str, SceneGraph] = {}
    records = rows(read_json(path), "the file", path)
    often = Counter(word for row in records for word in _words(str(row.get("caption"))))
    side_by_side = Counter(
        pair for row in records for pair in set(noun_pairs(str(row.get("caption"))))
    )
    for i, row in enumerate(records, 1):
        what = f"row {i}"
        image = PurePosixPath(text(row, "image", what, path))
        made_up = rows(row.get("hal_caption"), f"hal_caption of {what}", path)
        key = f"{i}-{image.stem}"
        true = text(row, "caption", what, path)
        others = Counter(
            word for each in made_up for word in _words(text(each, "caption", what, path))
        )
        least = len(made_up) - 1
        slip = any(
            others[word] < (least if often[word] < _OFTEN else least - 1) for word in _words(true)
        ) or any(side_by_side[pair] < 2 for pair in noun_pairs(true))
        graphs[key] = SceneGraph(
            image=Image(
                id=key,
                file=image.name,
                address=f"{_COCO}/{image}" if image.name.startswith("COCO_") else "",
            ),
            captions=() if slip else (true,),
        )
    return Source(
        name=str(path),
        reader="hal_eval",
        digest=digest_of([path]),
        graphs=tuple(graphs.values()),
        licence="Apache-2.0",
        citation=_OF_HAL_EVAL,
    )


HAL_EVAL = Reader("hal_eval", "Hal-Eval's in_domain_evaluation.json", is_hal_eval, read_hal_eval)
