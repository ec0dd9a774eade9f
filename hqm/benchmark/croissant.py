"""Croissant metadata of a benchmark, so that data set searches and loaders understand it.

Croissant (MLCommons, version 1.1) is JSON-LD in the vocabulary of schema.org: what the data set is,
its files with their checksums, and how the fields of its records are read from them. Its extension
for responsible AI (`rai:`) says how the data were collected, and what they cannot show.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.card import Card, FieldsSection, rai_name
from hqm.benchmark.findings import Finding, code_of
from hqm.benchmark.registry import groups, load
from hqm.errors import DataError, UsageError
from hqm.files.records import read_records, write_records
from hqm.files.whole import write_text
from hqm.version import __version__

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_ABOUT = {
    "id": "The item's name, unique in the file.",
    "prompt": "The question.",
    "target": "The right answer.",
    "image": "The picture's path below the image folder.",
    "type": "The hallucination type.",
    "part": "The split it belongs to.",
    "cluster": "What it shares with other items.",
    "options": "The options of a multiple choice.",
}
_ENCODINGS = {".json": "application/json", ".jsonl": "application/jsonlines", ".csv": "text/csv"}


_FOUND = {"data_limitations": "STWIDF", "data_biases": "L"}
"""Field -> the codes of findings that belong to it, by their first letter."""
_CONFORMS = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]


def _responsible(card: Card, findings: Sequence[Finding]) -> dict[str, str]:
    """What the makers say of their data, with what the check found of it."""
    said: dict[str, str] = card.rai.model_dump() if card.rai is not None else {}
    if not said.get("data_collection") and card.source.images:
        said["data_collection"] = card.source.images
    for field, codes in _FOUND.items():
        of_field = [f for f in findings if code_of(f.name).code[0] in codes]
        sentences = [f"{f.sentence}." for f in of_field if code_of(f.name).severity != "note"]
        if sentences:
            what = f"Found by a check of HQM {__version__}: {' '.join(sentences)}"
            said[field] = f"{said.get(field, '')} {what}".strip()
    return {rai_name(field): text for field, text in said.items() if text}


def croissant_metadata(
    benchmark: Benchmark, beside: Path, findings: Sequence[Finding] = (), statement: str = ""
) -> dict[str, Any]:
    """The Croissant metadata of a benchmark.

    Files that lie in the benchmark's folder are named relative to the metadata file, files of a
    release by their pinned address. The records are described where the card names an items file of
    JSON lines or CSV; `write_croissant` writes those of a release beside its metadata.

    Parameters
    ----------
    beside
        The folder that the metadata file goes to.
    findings
        Those of the check, for the limits and biases.
    statement
        The reliability statement of an audit.

    Raises
    ------
    DataError
        The benchmark's items cannot be read.

    Examples
    --------
    >>> shapes = load("shapes_vqa")
    >>> metadata = croissant_metadata(shapes, shapes.data)
    >>> metadata["name"], [field["name"] for field in metadata["recordSet"][0]["field"]]
    ('shapes_vqa', ['id', 'prompt', 'target', 'image', 'type'])
    """
    card = benchmark.card
    about = {
        "name": card.name,
        "alternateName": card.title,
        "description": card.summary or card.title,
        "version": card.version,
        "license": _licence(card.licence),
        "url": card.url,
        "citeAs": card.citation,
        "keywords": [card.task, "hallucination", "vision-language models", *card.types],
    }
    files, records = _release(card), []
    items = benchmark.data / card.data.items
    inside = items.resolve().is_relative_to(beside.resolve())
    if inside and items.is_file() and not files:
        files = [_items_file(items, beside), *_pictures(benchmark, beside)]
        records = _records(card.fields, items, card.data.encoding)
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS,
        **{key: value for key, value in about.items() if value},
        **_responsible(card, findings),
        **({"measurementTechnique": statement} if statement else {}),
        "distribution": files,
        "recordSet": records,
    }


def write_croissant(
    name: str,
    path: Path,
    data: Path | None = None,
    findings: Sequence[Finding] = (),
    statement: str = "",
) -> int:
    """Write the metadata of the benchmark of this name, and return how many files they describe.

    Items that lie elsewhere, as those of a release, are written beside the metadata as HQM reads
    them where they are at hand, so that the records can be loaded.

    Parameters
    ----------
    findings, statement
        As in `croissant_metadata`.

    Raises
    ------
    UsageError
        The name stands for several benchmarks.
    """
    if name in groups():
        members = ", ".join(groups()[name])
        raise UsageError(
            f"{name} stands for several benchmarks", remedy=f"Export one of {members}."
        )
    benchmark = load(name, data=data)
    metadata = croissant_metadata(benchmark, path.parent, findings, statement)
    if not metadata["recordSet"] and (rows := _items(benchmark)):
        items = path.with_name(f"{path.stem}-items.jsonl")
        write_records(items, rows)
        metadata["distribution"].append(_items_file(items, path.parent))
        metadata["recordSet"] = _records(FieldsSection(), items)
    write_text(path, json.dumps(metadata, indent=1, ensure_ascii=False) + "\n")
    return len(metadata["distribution"])


def _items(benchmark: Benchmark) -> list[dict[str, Any]]:
    """The items as records with HQM's fields; none where the release is not at hand."""
    try:
        items = benchmark.original.items
    except DataError:
        return []
    held = [name for name in FieldsSection.model_fields if any(getattr(i, name, "") for i in items)]
    return [{name: getattr(item, name) for name in held} for item in items]


def _licence(name: str) -> str:
    """The licence's address when its name is an SPDX identifier, as Croissant recommends; else the
    name itself.
    """
    plain = name.replace("-", "").replace(".", "").isalnum()
    return f"https://spdx.org/licenses/{name}.html" if plain else name


def _release(card: Card) -> list[dict[str, Any]]:
    return [
        {
            "@type": "cr:FileObject",
            "@id": file.path,
            "name": file.path,
            "contentUrl": file.url,
            "encodingFormat": _ENCODINGS.get(Path(file.path).suffix, "application/octet-stream"),
            "sha256": file.sha256,
        }
        for file in card.source.files
        if file.url and file.sha256
    ]


def _items_file(path: Path, beside: Path) -> dict[str, Any]:
    content = path.read_bytes()
    return {
        "@type": "cr:FileObject",
        "@id": "items",
        "name": "items",
        "contentUrl": _relative(path, beside),
        "encodingFormat": _ENCODINGS.get(path.suffix, "application/octet-stream"),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _pictures(benchmark: Benchmark, beside: Path) -> list[dict[str, Any]]:
    if not benchmark.card.data.images or not benchmark.images.is_dir():
        return []
    suffixes = sorted({Path(item.image).suffix for item in benchmark.original.items if item.image})
    kinds = [f"image/{suffix.lstrip('.').lower().replace('jpg', 'jpeg')}" for suffix in suffixes]
    return [
        {
            "@type": "cr:FileSet",
            "@id": f"pictures{suffix}",
            "name": f"pictures{suffix}",
            "encodingFormat": kind,
            "includes": f"{_relative(benchmark.images, beside)}/**/*{suffix}",
        }
        for suffix, kind in zip(suffixes, kinds, strict=True)
    ]


def _relative(path: Path, beside: Path) -> str:
    resolved, folder = path.resolve(), beside.resolve()
    return (
        resolved.relative_to(folder).as_posix()
        if resolved.is_relative_to(folder)
        else resolved.as_uri()
    )


def _records(named: FieldsSection, items: Path, encoding: str = "utf-8") -> list[dict[str, Any]]:
    if items.suffix not in (".jsonl", ".csv"):
        return []
    rows = read_records(items, encoding)
    names = {ours: getattr(named, ours) for ours in FieldsSection.model_fields}
    fields = [
        _field(ours, theirs, [row.get(theirs) for row in rows])
        for ours, theirs in names.items()
        if any(theirs in row for row in rows)
    ]
    name = {"@id": "records", "name": "records", "description": "One record an item."}
    return [{"@type": "cr:RecordSet", **name, "key": {"@id": "records/id"}, "field": fields}]


def _field(ours: str, theirs: str, values: Sequence[Any]) -> dict[str, Any]:
    repeated = any(isinstance(value, list) for value in values)
    return {
        "@type": "cr:Field",
        "@id": f"records/{ours}",
        "name": ours,
        "description": _ABOUT[ours],
        "dataType": "sc:Text",
        "source": {"fileObject": {"@id": "items"}, "extract": {"column": theirs}},
        **({"repeated": True} if repeated else {}),
    }
