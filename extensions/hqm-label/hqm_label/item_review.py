"""A benchmark's own items read by people: a corrected benchmark or form, which says where each
change comes from.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.errors import DataError, UsageError
from hqm.files.cache import is_url
from hqm.files.records import write_records
from hqm.files.toml_files import toml_text
from hqm.files.whole import atomic_folder, write_texts
from hqm.forms.make_forms import read_form, write_form
from hqm.signature import digest
from hqm.types import ORIGINAL, Form, Item, LeftOut
from hqm.version import __version__
from hqm_label.label_schema import Schema
from hqm_label.label_store import Label
from hqm_label.rater_view import reviewed_forms
from hqm_label.study import Study
from hqm_label.study_plan import ADJUDICATION, item_digest

PROVENANCE = "provenance.jsonl"
"""The file beside corrected items that says of every item what its reviewers said and what was
done.
"""
_DROPPING_DECISIONS = ("ambiguous subject", "bad picture", "drop")
"""What leaves an item out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResult:
    """The result of a review of items."""

    n_kept: int
    changed: tuple[str, ...]
    """The items with another key or another wording."""
    dropped: tuple[str, ...]
    unresolved: tuple[str, ...]
    """The items on which reviewers disagree, and those that they cannot decide; they stay as they
    are.
    """
    unread: int
    """The items that nobody reviewed; they stay as they are."""


def decision(schema: Schema, labels: Sequence[Label], settled: Label | None) -> Label | None:
    """Return the decision on an item: the adjudicated one, else the unanimous one, else None."""
    if settled is not None:
        labels = [settled]
    contents = {
        json.dumps([label.label, label.values.get("target"), label.values.get("prompt")])
        for label in labels
    }
    if len(contents) == 1 and labels[0].decided and not _lacks_text(schema, labels[0]):
        return labels[0]
    return None


def _lacks_text(schema: Schema, label: Label) -> bool:
    """Whether a choice asks for a text, which a label from another tool does not have."""
    asked = [choice.asks for choice in schema.choices if choice.value == label.label]
    return any(field and field not in label.values for field in asked)


def write_reviewed(study: Study, path: Path) -> ReviewResult:
    """Write the result of a review: a benchmark folder, or the file of a form.

    A folder gets a card, the items that stand, corrected where the reviewers said so, and
    `provenance.jsonl` with a line for every item of the benchmark. A form's file is as `hqm forms
    --out` writes it, dropped items with their reason, and the provenance stands beside it.

    Raises
    ------
    UsageError
        The plan is no review, or nothing is reviewed yet.
    DataError
        A corrected key is none that the item can have, or `path` exists and is no folder that HQM
        wrote.
    """
    if not study.schema.reviews_items:
        raise UsageError(
            f"the plan has the schema {study.schema.name}, which reviews no items",
            remedy="Use `hqm label export` for labels on answers.",
        )
    labels_by_uid, settled = study.labels_by_answer(), study.adjudicated()
    if not labels_by_uid:
        raise UsageError("nothing is reviewed yet", remedy="Open the page: `hqm label serve PLAN`.")
    name = study.plan.rows[0].form
    form = reviewed_forms(study.plan, study.benchmark)[name]
    rows = {row.item: row for row in study.plan.rows}
    items: list[Item] = []
    dropped: list[LeftOut] = []
    lines: list[dict[str, Any]] = []
    for item in form.items:
        row = rows.get(item.id)
        labels = labels_by_uid.get(row.uid, []) if row else []
        if row and labels:
            decided = decision(study.schema, labels, settled.get(row.uid))
        else:
            decided = None
        word = decided.label if decided else None
        if word in _DROPPING_DECISIONS:
            corrected = None
        else:
            corrected = _corrected(item, decided)
        if corrected is None:
            dropped.append(LeftOut(item.id, item.prompt, f"people: {word}"))
        else:
            items.append(corrected)
        lines.append(
            _provenance_line(
                item,
                corrected,
                labels,
                decided,
                str(word or ("unresolved" if labels else "unread")),
            )
        )
    reviewed = Form(name, tuple(items), (*form.left_out, *dropped))
    if name == ORIGINAL:
        _write_folder(study, reviewed, lines, path)
    else:
        write_form(reviewed, path)
        read_form(path, study.benchmark.original, name)  # what is written is taken by --form
        write_records(path.with_name(f"{path.stem}.{PROVENANCE}"), lines)
    counts = Counter(line["decision"] for line in lines)
    return ReviewResult(
        n_kept=counts["keep"],
        changed=tuple(line["item"] for line in lines if line["action"] == "changed"),
        dropped=tuple(item.id for item in dropped),
        unresolved=tuple(line["item"] for line in lines if line["decision"] == "unresolved"),
        unread=counts["unread"],
    )


def _corrected(item: Item, decided: Label | None) -> Item:
    values: Mapping[str, Any] = decided.values if decided else {}
    if values.get("prompt"):
        return replace(item, prompt=str(values["prompt"]))
    if "target" not in values:
        return item
    target = str(values["target"])
    if item.task == "yes_no" and target.lower() not in ("yes", "no"):
        raise DataError(
            f"the corrected key {target!r} is neither yes nor no",
            location=item.id,
            remedy="Undo it and write one.",
        )
    if item.options and target not in [chr(65 + i) for i in range(len(item.options))]:
        raise DataError(
            f"the corrected key {target!r} is no option's letter",
            location=item.id,
            remedy="Undo it and choose one.",
        )
    return replace(item, target=target)


def _provenance_line(
    item: Item, corrected: Item | None, labels: Sequence[Label], decided: Label | None, word: str
) -> dict[str, Any]:
    if corrected is None:
        changed = {}
    else:
        changed = {
            field: {"before": getattr(item, field), "after": getattr(corrected, field)}
            for field in ("prompt", "target")
            if getattr(item, field) != getattr(corrected, field)
        }
    action = "changed" if changed else "unchanged"
    if decided is not None and decided.rater == ADJUDICATION:
        by = "adjudication"
    else:
        by = "reviewers"
    return {
        "item": item.id,
        "digest": item_digest(item),
        "decision": word,
        "action": "left out" if corrected is None else action,
        **({"by": by} if decided is not None else {}),
        **({"changed": changed} if changed else {}),
        "reviews": [{"rater": label.rater, **label.values, "time": label.time} for label in labels],
    }


def _write_folder(study: Study, form: Form, lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    if path.exists() and not (
        path.is_dir() and (not any(path.iterdir()) or (path / PROVENANCE).is_file())
    ):
        raise DataError(
            "it exists, and is no reviewed benchmark",
            location=str(path),
            remedy="Name a new folder with --out.",
        )
    benchmark = study.benchmark
    # the version follows from the changes, so that equal reviews give equal versions
    changes = digest([[line["item"], line["action"], line.get("changed")] for line in lines])
    version = f"{benchmark.card.version}+review.{changes[3:11]}"
    # a benchmark with code needs its adapter beside the corrected items
    has_no_code = type(benchmark) is Benchmark
    records = [_record(item) if has_no_code else item.to_dict() for item in form.items]
    with atomic_folder(path) as folder:
        write_records(folder / "items.jsonl", records)
        write_records(folder / PROVENANCE, [_provenance_head(study), *lines])
        adapter = {} if has_no_code else {"adapter.py": _adapter(study)}
        write_texts(folder, {"card.toml": _card(benchmark, version, has_no_code), **adapter})


def _record(item: Item) -> dict[str, Any]:
    """An item as the items file of a benchmark without code has it."""
    names = ("id", "prompt", "target", "image", "type", "part", "cluster")
    fields = {name: getattr(item, name) for name in names}
    return {**item.meta, **fields, "options": list(item.options) or None}


def _adapter(study: Study) -> str:
    """Code for a benchmark that has code: scored as before, with the items beside the card."""
    kind = type(study.benchmark)
    name = study.plan.benchmark
    if kind.__module__.startswith("hqm.adapters."):
        head = ["import hqm", f"from {kind.__module__} import {kind.__name__} as Before"]
        if not study.benchmark.card.data.folder:
            data_expression = f"shipped() / {name!r}"
        else:
            data_expression = "data"
        head += ["from hqm.benchmark.registry import shipped"] if data_expression != "data" else []
    else:
        head = ["import hqm", "", f"Before = type(hqm.load({str(Path(name).resolve())!r}))"]
        data_expression = f"Path({str(Path(study.benchmark.data).resolve())!r})"
    return _CODE.format(label=study.benchmark.label, head="\n".join(head), place=data_expression)


_CODE = '''"""The items of {label} as people corrected them, in items.jsonl; provenance.jsonl says what was changed and who said so."""

from pathlib import Path

{head}


class Reviewed(Before):
    """Scored as before; only the items are others."""

    def __init__(self, card, data, **settings):
        super().__init__(card, {place}, **settings)

    def read(self):
        rows = hqm.read_records(Path(__file__).with_name("items.jsonl"))
        return hqm.Form("original", tuple(hqm.Item.from_dict(row) for row in rows))
'''


def _provenance_head(study: Study) -> dict[str, Any]:
    """Return the first line of the provenance, which holds for all others."""
    return {
        "benchmark": study.benchmark.label,
        "items_digest": study.benchmark.original.digest,
        "plan_digest": digest([row.to_dict() for row in study.plan.rows]),
        "schema": study.schema.name,
        "raters": list(study.plan.raters),
        "made_with": f"hqm {__version__}",
    }


def _card(benchmark: Benchmark, version: str, has_no_code: bool) -> str:
    """Return the benchmark's card.

    Without code, its items are read from the file beside it, by the usual column names.
    """
    card = benchmark.card.model_dump(
        exclude_defaults=True, exclude={"adapter", "group", "source"}, mode="json"
    )
    card["version"] = version
    if has_no_code:
        images = benchmark.card.data.images
        card["data"] = {
            "items": "items.jsonl",
            "images": images if is_url(images) else str(benchmark.images.resolve()),
        }
        card.pop("fields", None)
    return toml_text(card)
