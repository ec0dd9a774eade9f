"""Hal-Eval: [{image, caption, hal_caption: [{type, caption}]}], true captions with those that the
release calls wrong.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from hqm.builders.graph import Image, SceneGraph
from hqm.builders.source import Reader, Source, digest_of, first_value, rows, text
from hqm.files.records import read_json

_CITATION = "Jiang et al. (2024), Hal-Eval (arXiv 2402.15721)"


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
        citation=_CITATION,
        wrong=wrong,
    )


READER = Reader("hal_eval", "Hal-Eval's in_domain_evaluation.json", is_hal_eval, read_hal_eval)
