"""The labels of a study as a CSV file for `hqm audit --criterion`."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path

from hqm.errors import UsageError
from hqm.labels.facts import Sentence, stage_labels
from hqm.labels.plan import ADJUDICATION, labels_path, read_plan
from hqm.labels.records import Label, LabelStore
from hqm.labels.schema import read_schema

_COLUMNS = (
    "item",
    "respondent",
    "form",
    "run",
    "answer_digest",
    "rater",
    "label",
    "probability",
    "schema",
    "seconds",
    "uid",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLabels:
    """The file, and what it holds."""

    text: str
    labels: int
    answers: int
    raters: tuple[str, ...]


def export_labels(path: Path) -> WrittenLabels:
    """The labels of a plan, one row a rater and answer; adjudicated ones under the rater
    `adjudication`.

    Where facts were labelled, the column `stages` says what the rater said of every part and fact.

    Raises
    ------
    UsageError
        The study reviews items: its result is a corrected items file.
    StoreError
        There are no labels yet.
    """
    plan = read_plan(path)
    schema = read_schema(plan.schema, path.parent)
    if schema.reviews_items:
        raise UsageError(
            "a review of items has no labels of answers",
            remedy="Its result is a corrected items file.",
        )
    with LabelStore(labels_path(path), readonly=True) as store:
        labels = [label for label in store.labels() if label.uid in plan.by_uid]
    by_facts = schema.kind == "facts"
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, "stages"] if by_facts else _COLUMNS)
    raters: dict[str, None] = {}
    for label in labels:
        row = plan.by_uid[label.uid]
        rater = ADJUDICATION if label.by == "adjudication" else label.rater
        raters[rater] = None
        share = schema.share(label.label)
        writer.writerow(
            [
                row.item,
                row.respondent,
                row.form,
                row.run,
                row.answer_digest,
                rater,
                "" if share is None else f"{share:.17g}",
                "" if row.probability is None else f"{row.probability:.17g}",
                schema.name,
                "" if label.milliseconds is None else f"{label.milliseconds / 1000:g}",
                row.uid,
                *([_stages(label)] if by_facts else []),
            ]
        )
    return WrittenLabels(
        text=text.getvalue(),
        labels=len(labels),
        answers=len({label.uid for label in labels}),
        raters=tuple(raters),
    )


def _stages(label: Label) -> str:
    said = stage_labels([Sentence.from_dict(each) for each in label.values.get("sentences", ())])
    return json.dumps(said, ensure_ascii=False) if said else ""
