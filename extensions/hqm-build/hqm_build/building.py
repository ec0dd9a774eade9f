"""Build a benchmark: candidates, balance, deduplication, people's decisions, the folder, and what
is measured of it.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.registry import load
from hqm.errors import DataError, UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.dialect import csv_text
from hqm.files.images import ImageSource, open_images
from hqm.files.records import write_records
from hqm.files.toml_files import toml_text
from hqm.files.whole import atomic_folder, name_for, write_texts
from hqm.lint.answer_leaks import LARGEST_ERROR
from hqm.psychometrics import items_for_error, stream
from hqm.respondents import make_respondent
from hqm.signature import digest
from hqm.store.database import Store
from hqm.version import __version__
from hqm_build.caption_writers import Roles
from hqm_build.graph import Draft, Promise, SelectedQuestion
from hqm_build.measuring import ItemDecision, Measured, Review, precision_of, read_review
from hqm_build.source import Order, Recipe, Source, open_annotations, recipe_named

OFFLINE = "offline"
"""The writer and the filter that ask no model."""
_MAX_ORDERS = 8
"""Orders of the items that are tried at most, until one gives no answer away."""
_MAX_COMPARED_PICTURES = 3_000
"""Pictures of a source that are compared with each other before the draft; of a larger one, those
that are used.
"""


@dataclass(frozen=True, kw_only=True)
class Build:
    """What was built."""

    folder: Path
    recipe: Recipe
    source: Source
    measured: Measured
    promises: tuple[Promise, ...]
    claimed: tuple[str, ...]
    """The types that the card claims, because each has enough items."""
    matched: int
    """How many items have another one to be compared with."""
    forms: tuple[str, ...]

    @property
    def keeps_promises(self) -> bool:
        """Whether every promise of the recipe is kept."""
        return all(promise.kept for promise in self.promises)


def build(
    recipe: str,
    annotations: str,
    folder: Path,
    *,
    items: int,
    seed: int = 0,
    images: str | None = None,
    reviewed: Path | None = None,
    writer: str = OFFLINE,
    checker: str = OFFLINE,
    store: Store | None = None,
) -> Build:
    """Build a benchmark into a new folder; the same arguments give the same bytes.

    Parameters
    ----------
    recipe, annotations
        The recipe's name, and the annotations, as `open_annotations` takes them.
    items
        How many are wanted; fewer are made where the annotations have no more, which a note says.
    images
        A folder or zip that the pictures are copied from, or a web address to which their names are
        appended.
    reviewed
        Decisions of people about the items of the same build without this file.
    writer, checker
        Who writes wrong captions and who checks them: `offline` (templates and rules), or models by
        name.
    store
        Where the models' replies are kept, so that each is asked once; needed where a model is
        named.

    Raises
    ------
    HQMError
        A name means nothing, the annotations cannot be read or have nothing for the recipe, or the
        folder is there.
    """
    build_recipe = recipe_named(recipe)
    name = name_for(folder)
    review = read_review(reviewed) if reviewed is not None else None
    source = open_annotations(annotations)
    pictures = Pictures(source, images)
    source = _usable(source, pictures)
    order = Order(
        source=source,
        items=items,
        rng=stream(seed, f"build.{recipe}"),
        roles=_roles(build_recipe, writer, checker, store),
    )
    draft = build_recipe.draft(order)
    if not draft.selected:
        message = f"the recipe {recipe} makes no item of it"
        notes = _notes(build_recipe, draft)
        if notes:
            message += f": {'; '.join(notes)}"
        raise DataError(
            message,
            location=annotations,
            remedy=f"It needs {build_recipe.needs}.",
        )
    with atomic_folder(folder) as draft_folder:
        result = _write_build(
            draft_folder, name, build_recipe, source, draft, pictures, seed, review
        )
    # it was read in the temporary folder, which has the final name now
    benchmark = result.measured.benchmark
    benchmark.data = folder
    return replace(result, folder=folder)


def _roles(recipe: Recipe, writer: str, checker: str, store: Store | None) -> Roles | None:
    """The models that write and check captions; None where rules do both."""
    model_names = {"--writer": writer, "--filter": checker}
    models = {option: name for option, name in model_names.items() if name != OFFLINE}
    if not models:
        return None
    option, name = next(iter(models.items()))
    if not recipe.writes:
        raise UsageError(
            f"{option} {name!r:.60}: the recipe {recipe.name} writes no captions",
            remedy="Leave it out, or take the recipe halcaption.",
            name=name,
            choices=(OFFLINE,),
        )
    if store is None:
        raise UsageError(
            "a model's replies need a store", remedy="Name its file with --store.", name=name
        )
    respondents = {option: make_respondent(name) for option, name in models.items()}
    return Roles(
        store=store, writer=respondents.get("--writer"), checker=respondents.get("--filter")
    )


def _usable(source: Source, pictures: Pictures) -> Source:
    """Remove pictures that are missing or look like an earlier one from the source."""
    graphs = [graph for graph in source.graphs if pictures.has(graph.image.file)]
    if not graphs:
        raise DataError(
            f"none of the {len(source.graphs)} pictures of the annotations is there, such as"
            f" {source.graphs[0].image.file!r}",
            location=source.name,
            remedy="Name the folder of the pictures with --images.",
        )
    # copies of a picture would let one item give away another
    if pictures.are_local and len(graphs) <= _MAX_COMPARED_PICTURES:
        twins = _twins([graph.image.file for graph in graphs], pictures)
        graphs = [graph for graph in graphs if graph.image.file not in twins]
    return replace(source, graphs=tuple(graphs))


def _twins(files: Sequence[str], pictures: Pictures) -> frozenset[str]:
    """Find pictures that show what an earlier one shows, or cannot be decoded."""
    import tempfile

    from hqm.lint.picture_checks import Look, twins_among

    looks: dict[str, Look] = {}
    paths: dict[str, Path] = {}
    excluded: set[str] = set()
    with tempfile.TemporaryDirectory() as temporary_folder:
        for file in dict.fromkeys(files):
            pictures.save(file, "", Path(temporary_folder))
            paths[file] = Path(temporary_folder) / file
            try:
                looks[file] = Look.from_file(paths[file])
            except OSError:
                excluded.add(file)
        for twins in twins_among(looks, paths):
            if twins.first not in excluded:
                excluded.add(twins.second)
    return frozenset(excluded)


def _write_build(
    folder: Path,
    name: str,
    recipe: Recipe,
    source: Source,
    draft: Draft,
    pictures: Pictures,
    seed: int,
    review: Review | None,
) -> Build:
    types = _measurable_types(draft.selected)
    addresses = {graph.image.id: graph.image.address for graph in source.graphs}
    (folder / "images").mkdir()
    files = {choice.question.image: choice.question.file for choice in draft.selected}
    image_names = {
        image: pictures.save(file, addresses[image], folder / "images")
        for image, file in sorted(files.items())
    }
    benchmark: Any = None
    for attempt in range(_MAX_ORDERS):
        rng = stream(seed, f"build.order.{attempt}")
        selected = [draft.selected[int(i)] for i in rng.permutation(len(draft.selected))]
        reviewed = _apply_review(
            _rows(selected, image_names, types, draft.groups), selected, review
        )
        provenance = [
            _provenance(item.row, item.choice, source, recipe, seed, review) for item in reviewed
        ]
        unchanged = [item for item in reviewed if item.is_unchanged]
        benchmark = write_folder(
            folder,
            name,
            recipe,
            source,
            [item.row for item in reviewed],
            provenance,
            _forms(unchanged),
            draft.files,
            types,
        )
        measured = Measured(
            benchmark=benchmark,
            draft=draft,
            notes=_notes(recipe, draft, len(selected) - len(reviewed), attempt),
            form=benchmark.original,
            pictures_checked=pictures.are_local,
            precision=precision_of(review),
        )
        # L2: the order gives answers away; that is chance, and another order is drawn
        if recipe.task != "yes_no" or not any(code.startswith("L2") for code in measured.codes):
            break
    return Build(
        folder=folder,
        recipe=recipe,
        source=source,
        measured=measured,
        promises=recipe.promises(measured),
        claimed=types,
        matched=sum(item.choice.matched is not None for item in unchanged),
        forms=tuple(sorted(path.stem for path in (folder / "forms").glob("*.jsonl"))),
    )


def _measurable_types(selected: Sequence[SelectedQuestion]) -> tuple[str, ...]:
    """Return the types for the card: all where each has enough items for a score, else none."""
    counts = Counter(choice.question.type for choice in selected)
    min_items = items_for_error(LARGEST_ERROR)
    if min(counts.values()) >= min_items:
        return tuple(sorted(counts))
    return ()


def _rows(
    selected: Sequence[SelectedQuestion],
    image_names: Mapping[str, str],
    types: Sequence[str],
    groups: Mapping[str, str],
) -> list[dict[str, Any]]:
    rows = []
    wide = max(4, len(str(len(selected))))
    for number, choice in enumerate(selected, 1):
        question = choice.question
        row: dict[str, Any] = {
            "id": f"q{number:0{wide}}",
            "image": image_names[question.image],
            "prompt": choice.prompt,
        }
        # a type that cannot be measured is no label: the item keeps it as its kind
        row["type" if types else "kind"] = question.type
        if question.part:
            row["part"] = question.part
        if question.image in groups:
            row["cluster"] = image_names[groups[question.image]]
        row["target"] = question.target
        if question.rivals:
            row["rivals"] = list(question.rivals)
        rows.append({**row, **question.extra})
    return rows


class _ReviewedItem(NamedTuple):
    """The row of an item after the review, and its question."""

    row: dict[str, Any]
    choice: SelectedQuestion
    is_unchanged: bool
    """Whether the item is as the recipe made it."""


def _apply_review(
    rows: Sequence[dict[str, Any]], selected: Sequence[SelectedQuestion], review: Review | None
) -> list[_ReviewedItem]:
    """The items that a review leaves, corrected.

    Where an item is left out, the item that is answered the other way goes with it, so that its key
    stays balanced.
    """
    paired = list(zip(rows, selected, strict=True))
    if review is None:
        return [_ReviewedItem(row, choice, True) for row, choice in paired]
    unknown = sorted(review.by_item.keys() - {row["id"] for row in rows})
    if unknown:
        raise DataError(
            f"it decides on {unknown[0]}, which is no item of this build",
            location=review.path,
            remedy="Build with the arguments with which the reviewed items were built.",
        )
    decisions = dict.fromkeys((row["id"] for row in rows), ItemDecision(decision="keep"))
    decisions |= review.by_item
    excluded = _excluded_items(paired, decisions)
    remaining = [
        _apply_decision(row, choice, decisions[row["id"]])
        for row, choice in paired
        if row["id"] not in excluded
    ]
    if not remaining:
        raise DataError("it leaves no item", location=review.path, remedy="Build more items.")
    return remaining


def _excluded_items(
    paired: Sequence[tuple[dict[str, Any], SelectedQuestion]],
    decisions: Mapping[str, ItemDecision],
) -> set[str]:
    """The ids of the items that a review leaves out, with those that balanced them."""
    # a picture that is bad is bad for all its items
    bad_images = {
        row["image"] for row, _ in paired if decisions[row["id"]].decision == "bad picture"
    }
    excluded = {
        row["id"]
        for row, _ in paired
        if row["image"] in bad_images or decisions[row["id"]].decision == "ambiguous"
    }
    for row, choice in paired:
        if row["id"] in excluded and row["target"] in ("yes", "no"):
            for partner, other_choice in paired:
                if partner["id"] not in excluded and _is_opposite(choice, other_choice):
                    excluded.add(partner["id"])
                    break
    return excluded


def _is_opposite(a: SelectedQuestion, b: SelectedQuestion) -> bool:
    return (
        a.question.target != b.question.target
        and a.wording == b.wording
        and (a.question.key, a.question.part) == (b.question.key, b.question.part)
    )


def _apply_decision(
    row: dict[str, Any], choice: SelectedQuestion, decision: ItemDecision
) -> _ReviewedItem:
    row = dict(row)
    is_yes_no = row["target"] in ("yes", "no")
    if decision.decision == "fixed text":
        row["prompt"] = decision.text
    if decision.target and decision.decision in ("wrong key", "fixed text"):
        row["target"] = decision.target.lower() if is_yes_no else decision.target
    elif decision.decision == "wrong key":
        if not is_yes_no:
            raise DataError(
                f"the key of {row['id']} is called wrong, and no other one is given",
                remedy="Write the right answer in the column target.",
            )
        row["target"] = "no" if row["target"] == "yes" else "yes"
    return _ReviewedItem(row, choice, decision.decision == "keep")


def _provenance(
    row: Mapping[str, Any],
    choice: SelectedQuestion,
    source: Source,
    recipe: Recipe,
    seed: int,
    review: Review | None,
) -> dict[str, Any]:
    question = choice.question
    matched = choice.matched
    record: dict[str, Any] = {
        "id": row["id"],
        "source": {
            "name": Path(source.name).name,
            "reader": source.reader,
            "digest": source.digest,
        },
        "recipe": recipe.name,
        "seed": seed,
        "image": question.image,
        "file": question.file,
        "objects": list(question.objects),
        "relations": list(question.relations),
        "key": question.key,
        "rule": question.rule,
        "statistic": question.statistic,
        "value": question.value,
        "competing": list(question.competing),
        "wording": choice.wording % len(question.prompts),
        "matched": None,
        "review": None,
    }
    if matched is not None:
        record["matched"] = {"key": matched.key, "objects": list(matched.objects)}
    if review is not None and row["id"] in review.by_item:
        decision = review.by_item[row["id"]]
        record["review"] = {
            "decision": decision.decision,
            "reviewer": decision.reviewer,
            "note": decision.note,
            "file": review.digest,
        }
    return record


def _forms(items: Sequence[_ReviewedItem]) -> dict[str, list[dict[str, Any]]]:
    """Build the forms `wording` (the next wording) and `matched` (another question on the
    picture).
    """
    forms = {}
    if any(choice.reworded != row["prompt"] for row, choice, _ in items):
        forms["wording"] = [
            {
                "id": row["id"],
                "prompt": choice.reworded,
                "target": row["target"],
                "rule": "build.wording",
            }
            for row, choice, _ in items
        ]
    if any(choice.matched is not None for _, choice, _ in items):
        forms["matched"] = [_matched_row(row, choice) for row, choice, _ in items]
    return forms


def _matched_row(row: Mapping[str, Any], choice: SelectedQuestion) -> dict[str, Any]:
    """The row of an item in the form `matched`."""
    if choice.matched is None:
        return {
            "id": row["id"],
            "prompt": row["prompt"],
            "left_out": "the picture has no other question of this kind",
        }
    return {
        "id": row["id"],
        "prompt": choice.matched.prompts[choice.wording % len(choice.matched.prompts)],
        "target": choice.matched.target,
        "rule": "build.matched",
    }


def _notes(recipe: Recipe, draft: Draft, n_left_out: int = 0, attempt: int = 0) -> tuple[str, ...]:
    """The notes of a draft, and a note for each part with fewer items than requested."""
    part_counts = {
        "": len(draft.selected),
        **Counter(choice.question.part for choice in draft.selected),
    }
    notes = list(draft.notes)
    for part, requested in draft.requested.items():
        count = part_counts.get(part, 0)
        if count < requested:
            prefix = f"{part}: " if part else ""
            notes.append(f"{prefix}{count} items of {requested}, for want of {recipe.lack}")
    if n_left_out:
        notes.append(
            f"{n_left_out} items left out by people's decisions, with those that balanced them"
        )
    if attempt:
        notes.append(
            f"the items stand in the {attempt + 1}th order that was drawn: the earlier ones gave"
            " answers away"
        )
    return tuple(notes)


# --- the folder: card, items, provenance, forms, pictures, a policy and a list for reviewers ---

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


class Pictures:
    """The pictures of a source: drawn, copied from a folder, or left at their web addresses."""

    def __init__(self, source: Source, location: str | None) -> None:
        self.source = source
        if location is not None and is_url(location):
            self.address = location.rstrip("/")
        else:
            self.address = ""
        self.image_source: ImageSource | None = None
        if location is not None and not self.address:
            if not Path(location).exists():
                raise UsageError(
                    "there is no such folder or zip", location=location, remedy="Correct --images."
                )
            self.image_source = open_images(Path(location))

    @property
    def are_local(self) -> bool:
        """Whether the pictures are on this machine."""
        return self.source.draw is not None or self.image_source is not None

    def has(self, file: str) -> bool:
        """Whether a picture can be used: it is drawn, in the folder, or no folder was named."""
        name = safe_name(file, self.source.name)
        return self.image_source is None or self.image_source.has(name)

    def save(self, file: str, address: str, folder: Path) -> str:
        """Draw or copy a picture into a folder, and return its name for the item."""
        name = safe_name(file, self.source.name)
        if self.source.draw is None and self.image_source is None:
            if self.address:
                return f"{self.address}/{name}"
            return address or name
        target = folder / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            if self.source.draw is not None:
                self.source.draw(name, target)
            elif self.image_source is not None:
                shutil.copyfile(self.image_source.path(name), target)
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
    unscored = 0.05
    reason = "as in the default policy"
    if source.respondents and recipe.unread > unscored:
        unscored = recipe.unread
        reason = (
            "the tiny embedded models were trained on other wordings, and do not read all of"
            " these; write 0.05 for models of your own"
        )
    write_texts(
        folder,
        {
            **{safe_name(file): text for file, text in files.items()},
            "card.toml": _card(name, recipe, source, records, types),
            "policy.toml": POLICY.format(unscored=unscored, why=reason),
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
    card: dict[str, Any] = {
        "name": name,
        "title": recipe.title,
        "version": f"1.0.0-{digest([dict(record) for record in records]).partition(':')[2][:12]}",
        "task": recipe.task,
        "summary": recipe.summary,
        "types": list(types),
        "labelled": bool(types),
        "citation": source.citation,
        "licence": source.licence,
    }
    if recipe.adapter:
        card["adapter"] = recipe.adapter
    card["data"] = {"items": ITEMS, "images": "images"}
    card |= recipe.card
    if source.respondents:
        card["respondents"] = {"embedded": list(source.respondents)}
    card["rai"] = {
        "data_collection": f"{len(records)} items, drawn by the recipe `{recipe.name}` of"
        f" hqm-audit {__version__} from {Path(source.name).name}; the seed fixes them.",
        "data_annotation_protocol": f"The right answers follow from the annotations; {PROVENANCE}"
        " has the rule and the annotation behind each.",
    }
    return toml_text(card)


def _review(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the first hundred items for people to review; items are in random order."""
    rows = [("item", "decision", "text", "target", "question", "key", "image")]
    for record in records[:100]:
        key = record.get("target", "")
        if isinstance(key, list):
            key = ", ".join(map(str, key))
        rows.append((record["id"], "", "", "", record["prompt"], key, record.get("image", "")))
    return csv_text(rows)


def _readme(
    name: str,
    recipe: Recipe,
    source: Source,
    records: Sequence[Mapping[str, Any]],
    forms: Mapping[str, object],
) -> str:
    form_options = " ".join(f"--form {form}=forms/{form}.jsonl" for form in forms)
    return f"""# {recipe.title}

{recipe.summary} {len(records)} items, built by the recipe `{recipe.name}` of hqm-audit {__version__} from {Path(source.name).name}.

- `items.jsonl`: the questions. `provenance.jsonl`: for each item, what it was made from and why its answer is right.
- `forms/`: the same items in other words (`wording`), and other questions about the same pictures (`matched`).
- `review.csv`: 100 items for people to decide on; `hqm build {recipe.name} ... --out FOLDER --reviewed review.csv` takes their decisions.
- `policy.toml`: what a build must show before people have labelled answers.

```sh
hqm check . --strict
hqm audit . --out out {form_options}
hqm gate out/audit.json --policy policy.toml
```

Citation: {source.citation}. Licence: {source.licence}.
"""
