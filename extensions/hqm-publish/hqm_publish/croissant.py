"""Croissant metadata of a benchmark, so that data set searches and loaders understand it.

Croissant (MLCommons, version 1.1) is JSON-LD in the vocabulary of schema.org: what the data set is,
its files with their checksums, and how the fields of its records are read from them. Its extension
for responsible AI (`rai:`) says how the data were collected, and what they cannot show.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.card import Card, FieldsSection, rai_name
from hqm.benchmark.findings import Finding, code_of
from hqm.benchmark.registry import groups, load
from hqm.errors import DataError, UsageError
from hqm.files.records import read_records, write_records
from hqm.files.whole import write_text
from hqm.types import Item
from hqm.version import __version__

# The standard context of Croissant 1.1, with keys that HQM does not use: where one of its keys is
# missing, Croissant's own reader (`mlcroissant`) warns.
_CONTEXT: dict[str, object] = {
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
_FIELD_DESCRIPTIONS = {
    "id": "The item's name, unique in the file.",
    "prompt": "The question.",
    "target": "The right answer.",
    "image": "The picture's path below the image folder.",
    "type": "The hallucination type.",
    "part": "The split it belongs to.",
    "cluster": "What it shares with other items.",
    "options": "The options of a multiple choice.",
}
# `mlcroissant` loads records only from media types that it knows by these very names.
_ENCODINGS = {".json": "application/json", ".jsonl": "application/jsonlines", ".csv": "text/csv"}


_FINDING_LETTERS = {"data_limitations": "STWIDF", "data_biases": "L"}
"""Field -> the first letters of the codes of findings that belong to it."""
_CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]


def _responsible(
    card: Card, findings: Sequence[Finding], measured: Mapping[str, str]
) -> dict[str, str]:
    """The makers' statements about their data, with the findings of the check and of an audit."""
    texts: dict[str, str] = {}
    if card.rai is not None:
        texts = card.rai.model_dump()
    if not texts.get("data_collection") and card.source.images:
        texts["data_collection"] = card.source.images
    for field, codes in _FINDING_LETTERS.items():
        sentences = []
        for finding in findings:
            # a note, such as that the pictures were not at hand, is no limit of the data
            code = code_of(finding.name)
            if code.code[0] in codes and code.severity != "note":
                sentences.append(f"{finding.sentence}.")
        if sentences:
            check_result = f"Found by a check of HQM {__version__}: {' '.join(sentences)}"
            texts[field] = f"{texts.get(field, '')} {check_result}".strip()
    for field, text in measured.items():
        texts[field] = f"{texts.get(field, '')} {text}".strip()
    return {rai_name(field): text for field, text in texts.items() if text}


def croissant_metadata(
    benchmark: Benchmark,
    folder: Path,
    findings: Sequence[Finding] = (),
    statement: str = "",
    measured: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """The Croissant metadata of a benchmark.

    Files that lie in the benchmark's folder are named relative to the metadata file, files of a
    release by their pinned address. The records are described where the card names an items file of
    JSON lines or CSV; `write_croissant` writes those of a release beside its metadata.

    Parameters
    ----------
    folder
        The folder that the metadata file goes to.
    findings
        Those of the check, for the limits and biases.
    statement
        The reliability statement of an audit.
    measured
        Field of the card's section `[rai]`, or `data_annotation_analysis` -> what an audit says.

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
    properties = {
        "name": card.name,
        "alternateName": card.title,
        "description": card.summary or card.title,
        "version": card.version,
        "license": _licence(card.licence),
        "url": card.url,
        "citeAs": card.citation,
        "keywords": [card.task, "hallucination", "vision-language models", *card.types],
    }
    files = _release(card)
    records = []
    items = benchmark.data / card.data.items
    is_below_folder = items.resolve().is_relative_to(folder.resolve())
    # files of a release have pinned addresses; only a benchmark of one's own names local files
    if is_below_folder and items.is_file() and not files:
        files = [_items_file(items, folder), *_pictures(benchmark, folder)]
        records = _records(card.fields, items, card.data.encoding)
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS_TO,
        **{key: value for key, value in properties.items() if value},
        **_responsible(card, findings, measured),
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
    measured: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Write the metadata of the benchmark of this name, and return how many files they describe.

    Items that lie elsewhere, as those of a release, are written beside the metadata as HQM reads
    them where they are at hand, so that the records can be loaded.

    Parameters
    ----------
    findings, statement, measured
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
    metadata = croissant_metadata(benchmark, path.parent, findings, statement, measured)
    if not metadata["recordSet"] and (rows := _items(benchmark)):
        items = path.with_name(f"{path.stem}-items.jsonl")
        write_records(items, rows)
        metadata["distribution"].append(_items_file(items, path.parent))
        metadata["recordSet"] = _records(FieldsSection(), items)
    write_text(path, json.dumps(metadata, indent=1, ensure_ascii=False) + "\n")
    return len(metadata["distribution"])


def _items(benchmark: Benchmark) -> list[dict[str, object]]:
    """The items as records with HQM's fields; none where the release is not at hand."""
    try:
        items = benchmark.original.items
    except DataError:
        return []

    def is_filled(name: str) -> bool:
        return any(getattr(item, name, "") for item in items)

    filled_fields = list(filter(is_filled, FieldsSection.model_fields))
    return [_record(item, filled_fields) for item in items]


def _record(item: Item, fields: Sequence[str]) -> dict[str, object]:
    return {name: getattr(item, name) for name in fields}


def _licence(name: str) -> str:
    """The licence's address when its name is an SPDX identifier, as Croissant recommends; else the
    name itself.
    """
    # "CC-BY-4.0" is an identifier, "non-commercial use" a description
    plain = name.replace("-", "").replace(".", "").isalnum()
    if plain:
        return f"https://spdx.org/licenses/{name}.html"
    return name


def _release(card: Card) -> list[dict[str, object]]:
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
        # `mlcroissant` refuses a file without an address or a checksum
        if file.url and file.sha256
    ]


def _items_file(path: Path, folder: Path) -> dict[str, object]:
    content = path.read_bytes()
    return {
        "@type": "cr:FileObject",
        "@id": "items",
        "name": "items",
        "contentUrl": _relative(path, folder),
        "encodingFormat": _ENCODINGS.get(path.suffix, "application/octet-stream"),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _pictures(benchmark: Benchmark, folder: Path) -> list[dict[str, object]]:
    if not benchmark.card.data.images or not benchmark.images.is_dir():
        return []
    # a set of files has one media type, so that each kind of picture is a set of its own
    suffixes = sorted({Path(image).suffix for image in benchmark.original.images})
    return [
        {
            "@type": "cr:FileSet",
            "@id": f"pictures{suffix}",
            "name": f"pictures{suffix}",
            "encodingFormat": mimetypes.guess_type(f"1{suffix}")[0],
            "includes": f"{_relative(benchmark.images, folder)}/**/*{suffix}",
        }
        for suffix in suffixes
    ]


def _relative(path: Path, folder: Path) -> str:
    """The path from a folder, or the address of a file that lies elsewhere."""
    resolved = path.resolve()
    if not resolved.is_relative_to(folder.resolve()):
        return resolved.as_uri()
    return resolved.relative_to(folder.resolve()).as_posix()


def _records(
    card_fields: FieldsSection, items: Path, encoding: str = "utf-8"
) -> list[dict[str, object]]:
    # fields name columns (`_field`), and `mlcroissant` reads no columns from an array in JSON
    if items.suffix not in (".jsonl", ".csv"):
        return []
    rows = read_records(items, encoding)
    fields = []
    for field in FieldsSection.model_fields:
        column = getattr(card_fields, field)
        if any(column in row for row in rows):
            fields.append(_field(field, column, [row.get(column) for row in rows]))
    return [
        {
            "@type": "cr:RecordSet",
            "@id": "records",
            "name": "records",
            "description": "One record an item.",
            "key": {"@id": "records/id"},
            "field": fields,
        }
    ]


def _field(field: str, column: str, values: Sequence[object]) -> dict[str, object]:
    description: dict[str, object] = {
        "@type": "cr:Field",
        "@id": f"records/{field}",
        "name": field,
        "description": _FIELD_DESCRIPTIONS[field],
        "dataType": "sc:Text",
        "source": {"fileObject": {"@id": "items"}, "extract": {"column": column}},
    }
    if any(isinstance(value, list) for value in values):
        description["repeated"] = True
    return description
