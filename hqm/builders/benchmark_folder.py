"""The folder of a built benchmark: card, items, provenance, forms, pictures, a policy and a list
for reviewers.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.registry import load
from hqm.builders.source import Recipe, Source
from hqm.errors import UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.images import ImageSource, open_images
from hqm.files.records import toml_text, write_records
from hqm.files.whole import write_texts
from hqm.signature import digest
from hqm.version import __version__

ITEMS, PROVENANCE, REVIEW = "items.jsonl", "provenance.jsonl", "review.csv"
POLICY = """\
# What a benchmark that hqm-audit has just built must show, before people have labelled answers to
# it.
#
# It asks for what a build answers for: no leak, no error and no warning in the items, two wordings
# and two runs. What only people and many respondents can show is in HQM's default policy: leave
# --policy out for that, once you have labels.
name = "built"

[required]
facets = ["run", "form"]

[limits]
# {why}
unscored = {unscored}
findings = "note"
# nothing that predicts the right answers without the pictures may be shown, in any type or part
leak = 0.0
"""


def name_for(folder: Path) -> str:
    """The name of the benchmark that is built into a folder.

    Raises
    ------
    UsageError
        The folder holds something, or its name cannot be that of a benchmark.
    """
    name = re.sub(r"\W+", "_", folder.resolve().name.lower()).strip("_")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", name) or len(name) > 100:
        raise UsageError(
            f"{folder.name!r:.200} cannot be a benchmark's name",
            remedy="Use at most 100 letters, digits and underscores.",
        )
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UsageError(
            "it is there already",
            place=str(folder),
            remedy="Name a folder that is new or empty with --out.",
        )
    return name


class Pictures:
    """The pictures of a source: drawn, copied from a folder, or left at their web addresses."""

    def __init__(self, source: Source, place: str | None) -> None:
        self.source = source
        self.address = place.rstrip("/") if place is not None and is_url(place) else ""
        self.place: ImageSource | None = None
        if place is not None and not self.address:
            if not Path(place).exists():
                raise UsageError(
                    "there is no such folder or zip", place=place, remedy="Correct --images."
                )
            self.place = open_images(Path(place))

    @property
    def at_hand(self) -> bool:
        """Whether the pictures are on this machine."""
        return self.source.draw is not None or self.place is not None

    def has(self, file: str) -> bool:
        """Whether a picture can be used: it is drawn, in the folder, or no folder was named."""
        name = safe_name(file, self.source.name)
        return self.place is None or self.place.has(name)

    def put(self, file: str, address: str, folder: Path) -> str:
        """Draw or copy a picture into a folder, and return its name for the item."""
        name = safe_name(file, self.source.name)
        if self.source.draw is None and self.place is None:
            return f"{self.address}/{name}" if self.address else address or name
        target = folder / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            if self.source.draw is not None:
                self.source.draw(name, target)
            elif self.place is not None:
                shutil.copyfile(self.place.path(name), target)
        return name


def write_folder(
    folder: Path,
    name: str,
    recipe: Recipe,
    source: Source,
    records: Sequence[Mapping[str, Any]],
    provenance: Sequence[Mapping[str, Any]],
    forms: Mapping[str, Sequence[Mapping[str, Any]]],
    files: Mapping[str, str],
    types: Sequence[str],
) -> Benchmark:
    """Write everything but the pictures, and return the benchmark as it is read back."""
    write_records(folder / ITEMS, records)
    write_records(folder / PROVENANCE, provenance)
    for form, rows in forms.items():
        (folder / "forms").mkdir(exist_ok=True)
        write_records(folder / "forms" / f"{form}.jsonl", rows)
    unscored, why = 0.05, "as in the default policy"
    if source.respondents and recipe.unread > unscored:
        unscored, why = (
            recipe.unread,
            (
                "the tiny embedded models were trained on other wordings, and do not read all of"
                " these; write 0.05 for models of your own"
            ),
        )
    write_texts(
        folder,
        {
            **{safe_name(file): text for file, text in files.items()},
            "card.toml": _card(name, recipe, source, records, types),
            "policy.toml": POLICY.format(unscored=unscored, why=why),
            REVIEW: _review(records),
            "README.md": _readme(name, recipe, source, records, forms),
            ".gitignore": "out/\n",
        },
    )
    return load(folder)


def _card(
    name: str,
    recipe: Recipe,
    source: Source,
    records: Sequence[Mapping[str, Any]],
    types: Sequence[str],
) -> str:
    card = {
        "name": name,
        "title": recipe.title,
        "version": f"1.0.0-{digest([dict(record) for record in records]).partition(':')[2][:12]}",
        "task": recipe.task,
        "summary": recipe.summary,
        "types": list(types),
        "labelled": bool(types),
        "citation": source.citation,
        "licence": source.licence,
        **({"adapter": recipe.adapter} if recipe.adapter else {}),
        "data": {"items": ITEMS, "images": "images"},
        **recipe.card,
        **({"respondents": {"embedded": list(source.respondents)}} if source.respondents else {}),
        "rai": {
            "data_collection": f"{len(records)} items, drawn by the recipe `{recipe.name}` of"
            f" hqm-audit {__version__} from {Path(source.name).name}; the seed fixes them.",
            "data_annotation_protocol": "The right answers follow from the annotations;"
            f" {PROVENANCE}"
            " has the rule and the annotation behind each.",
        },
    }
    return toml_text(card)


def _review(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the first hundred items for people to review; items are in random order."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("item", "decision", "text", "target", "question", "key", "image"))
    for record in records[:100]:
        key = record.get("target", "")
        writer.writerow(
            (
                record["id"],
                "",
                "",
                "",
                record["prompt"],
                ", ".join(map(str, key)) if isinstance(key, list) else key,
                record.get("image", ""),
            )
        )
    return out.getvalue()


def _readme(
    name: str,
    recipe: Recipe,
    source: Source,
    records: Sequence[Mapping[str, Any]],
    forms: Mapping[str, object],
) -> str:
    named = " ".join(f"--form {form}=forms/{form}.jsonl" for form in forms)
    return f"""# {recipe.title}

{recipe.summary} {len(records)} items, built by the recipe `{recipe.name}` of hqm-audit {__version__} from {Path(source.name).name}.

- `items.jsonl`: the questions. `provenance.jsonl`: for each item, what it was made from and why its answer is right.
- `forms/`: the same items in other words (`wording`), and other questions about the same pictures (`matched`).
- `review.csv`: 100 items for people to decide on; `hqm build {recipe.name} ... --out FOLDER --reviewed review.csv` takes their decisions.
- `policy.toml`: what a build must show before people have labelled answers.

```sh
hqm check . --strict
hqm audit . --out out {named}
hqm gate out/audit.json --policy policy.toml
```

Citation: {source.citation}. Licence: {source.licence}.
"""
