"""Captions of pictures, as releases have them: HQH's regions, and Hal-Eval's true and wrong
captions.

HQH's `image_data.json` is {image id: {caption, image_information}}, regions of Visual Genome as
lines of text. A line is `phrase X:196 Y:223 Width:149 Height:149`. The release writes the width
twice, so that no height is known. `hqm_build.phrases` says what is understood of the phrases.

Hal-Eval has [{image, caption, hal_caption: [{type, caption}]}], true captions with those that the
release calls wrong. The model that wrote these put slips of the true caption right without a word:
a true caption is left out if most of its wrong ones lack one of its words, and so is one with two
nouns that stand side by side in no other caption ("a ball building").
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path, PurePosixPath

from hqm.files.records import read_json
from hqm_build.graph import Box, Image, SceneGraph
from hqm_build.lexicon import noun_pairs
from hqm_build.phrases import read_phrases
from hqm_build.source import Reader, Source, digest_of, first_value, rows, table, text

_LINE = re.compile(r"\s*X:\s*(-?\d+)\s*Y:\s*(-?\d+)\s*Width:\s*(\d+)\s*Height:\s*\d+\s*")
_COCO = "http://images.cocodataset.org"
MIN_COMMON_CAPTIONS = 50
"""A word in so many captions is rarely a slip."""
_HQH_CITATION = "Yan et al. (2024), HQH (arXiv 2406.17115); regions of Visual Genome"
_HAL_EVAL_CITATION = "Jiang et al. (2024), Hal-Eval (arXiv 2402.15721)"


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
        subject = f"the picture {key}"
        record = table(row, subject, path)
        caption = text(record, "caption", subject, path)
        pieces = _LINE.split(text(record, "image_information", subject, path))
        regions: list[tuple[str, Box | None]] = []
        # split by the pattern: phrase, x, y, width, phrase, ...
        for phrase, *numbers in zip(*(pieces[i::4] for i in range(4)), strict=False):
            x, y, width = map(int, numbers)
            if phrase.strip():
                box = Box(x=x, y=y, width=width, height=0)
                regions.append((" ".join(phrase.split()), box))
        description = read_phrases(regions, caption)
        graphs.append(
            SceneGraph(
                image=Image(
                    id=key,
                    file=f"{key}.jpg",
                    exhaustive=description.exhaustive,
                    counted=description.counted,
                ),
                captions=(caption, *(phrase for phrase, _ in regions)),
                objects=description.objects,
                relations=description.relations,
                texts=description.texts,
                settings=description.settings,
            )
        )
    return Source(
        name=str(path),
        reader="regions",
        digest=digest_of([path]),
        graphs=tuple(graphs),
        licence="CC-BY-4.0 (Visual Genome)",
        citation=_HQH_CITATION,
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
    caption_counts = Counter(word for row in records for word in _words(str(row.get("caption"))))
    pair_counts = Counter(
        pair for row in records for pair in set(noun_pairs(str(row.get("caption"))))
    )
    for i, row in enumerate(records, 1):
        subject = f"row {i}"
        image = PurePosixPath(text(row, "image", subject, path))
        wrong_captions = rows(row.get("hal_caption"), f"hal_caption of {subject}", path)
        key = f"{i}-{image.stem}"
        caption = text(row, "caption", subject, path)
        wrong_counts = Counter(
            word
            for wrong_caption in wrong_captions
            for word in _words(text(wrong_caption, "caption", subject, path))
        )
        # all wrong captions but one keep a word, unless the writer mended it as a slip; of a common
        # word, one more may exchange it
        min_wrong = len(wrong_captions) - 1
        has_mended_word = any(
            wrong_counts[word] < min_wrong - (caption_counts[word] >= MIN_COMMON_CAPTIONS)
            for word in _words(caption)
        )
        has_odd_pair = any(pair_counts[pair] < 2 for pair in noun_pairs(caption))
        graphs[key] = SceneGraph(
            image=Image(
                id=key,
                file=image.name,
                address=f"{_COCO}/{image}" if image.name.startswith("COCO_") else "",
            ),
            captions=() if has_mended_word or has_odd_pair else (caption,),
        )
    return Source(
        name=str(path),
        reader="hal_eval",
        digest=digest_of([path]),
        graphs=tuple(graphs.values()),
        licence="Apache-2.0",
        citation=_HAL_EVAL_CITATION,
    )


HAL_EVAL = Reader("hal_eval", "Hal-Eval's in_domain_evaluation.json", is_hal_eval, read_hal_eval)
