"""Build a benchmark: candidates, balance, deduplication, people's decisions, the folder, and what
is measured of it.
"""

from __future__ import annotations

import csv
import io
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.registry import load
from hqm.builders.caption_writers import Roles
from hqm.builders.graph import Chosen, Draft, Promise
from hqm.builders.measuring import Measured, Review, Reviewed, precision_of, read_review
from hqm.builders.source import Order, Recipe, Source, open_annotations, recipe_named
from hqm.errors import DataError, UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.images import ImageSource, open_images
from hqm.files.records import toml_text, write_records
from hqm.files.whole import name_for, whole_folder, write_texts
from hqm.lint.answer_leaks import LARGEST_ERROR
from hqm.psychometrics import items_for_error, stream
from hqm.respondents import make_respondent
from hqm.signature import digest
from hqm.store.database import Store
from hqm.version import __version__

OFFLINE = "offline"
"""The writer and the filter that ask nobody."""
_ORDERS = 8
"""So many orders of the items are tried, until none of them gives an answer away."""
_LOOKED_AT = 3_000
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
    def kept(self) -> bool:
        """Whether every promise of the recipe is kept."""
        return all(promise.kept for promise in self.promises)


def build(
    recipe: str,
    place: str,
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
    recipe, place
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
    made = recipe_named(recipe)
    name = name_for(folder)
    review = read_review(reviewed) if reviewed is not None else None
    source = open_annotations(place)
    pictures = Pictures(source, images)
    source = _usable(source, pictures)
    order = Order(
        source=source,
        items=items,
        rng=stream(seed, f"build.{recipe}"),
        roles=_roles(made, writer, checker, store),
    )
    draft = made.draft(order)
    if not draft.chosen:
        said = _notes(made, draft)
        notes = f": {'; '.join(said)}" if said else ""
        raise DataError(
            f"the recipe {recipe} makes no item of it{notes}",
            location=place,
            remedy=f"It needs {made.needs}.",
        )
    with whole_folder(folder) as written:
        result = _written(written, name, made, source, draft, pictures, seed, review)
    benchmark = result.measured.benchmark
    benchmark.data = folder
    return replace(result, folder=folder)


def _roles(recipe: Recipe, writer: str, checker: str, store: Store | None) -> Roles | None:
    """The models that were named; None where rules write and check."""
    named = {"--writer": writer, "--filter": checker}
    models = {option: name for option, name in named.items() if name != OFFLINE}
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
    made = {option: make_respondent(name) for option, name in models.items()}
    return Roles(store=store, writer=made.get("--writer"), checker=made.get("--filter"))


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
    if pictures.at_hand and len(graphs) <= _LOOKED_AT:
        twins = _twins([graph.image.file for graph in graphs], pictures)
        graphs = [graph for graph in graphs if graph.image.file not in twins]
    return replace(source, graphs=tuple(graphs))


def _twins(files: Sequence[str], pictures: Pictures) -> frozenset[str]:
    """Find pictures that show what an earlier one shows, or cannot be decoded."""
    import tempfile

    from hqm.lint.picture_checks import Look, twins_among

    looks: dict[str, Look] = {}
    paths: dict[str, Path] = {}
    gone: set[str] = set()
    with tempfile.TemporaryDirectory() as place:
        for file in dict.fromkeys(files):
            pictures.put(file, "", Path(place))
            paths[file] = Path(place) / file
            try:
                looks[file] = Look.of(paths[file])
            except OSError:
                gone.add(file)
        for twins in twins_among(looks, paths):
            if twins.first not in gone:
                gone.add(twins.second)
    return frozenset(gone)


def _written(
    folder: Path,
    name: str,
    recipe: Recipe,
    source: Source,
    draft: Draft,
    pictures: Pictures,
    seed: int,
    review: Review | None,
) -> Build:
    claimed = _claimed(draft.chosen)
    addresses = {graph.image.id: graph.image.address for graph in source.graphs}
    (folder / "images").mkdir()
    files = {each.question.image: each.question.file for each in draft.chosen}
    named = {
        image: pictures.put(file, addresses[image], folder / "images")
        for image, file in sorted(files.items())
    }
    benchmark: Any = None
    for attempt in range(_ORDERS):
        rng = stream(seed, f"build.order.{attempt}")
        chosen = [draft.chosen[int(i)] for i in rng.permutation(len(draft.chosen))]
        rows = _reviewed(_rows(chosen, named, claimed), chosen, review)
        provenance = [_provenance(row, each, source, recipe, seed, review) for row, each, _ in rows]
        benchmark = write_folder(
            folder,
            name,
            recipe,
            source,
            [row for row, _, _ in rows],
            provenance,
            _forms([(row, each) for row, each, kept in rows if kept]),
            draft.files,
            claimed,
        )
        measured = Measured(
            benchmark=benchmark,
            draft=draft,
            notes=_notes(recipe, draft, len(chosen) - len(rows), attempt),
            form=benchmark.original,
            pictures_checked=pictures.at_hand,
            precision=precision_of(review),
        )
        # a cue of the order is nobody's choice: another order is drawn
        if recipe.task != "yes_no" or not any(code.startswith("L2") for code in measured.codes):
            break
    return Build(
        folder=folder,
        recipe=recipe,
        source=source,
        measured=measured,
        promises=recipe.promises(measured),
        claimed=claimed,
        matched=sum(each.matched is not None for _, each, kept in rows if kept),
        forms=tuple(sorted(path.stem for path in (folder / "forms").glob("*.jsonl"))),
    )


def _claimed(chosen: Sequence[Chosen]) -> tuple[str, ...]:
    """Return the types for the card: all where each has enough items for a score, else none."""
    counts: dict[str, int] = {}
    for each in chosen:
        counts[each.question.type] = counts.get(each.question.type, 0) + 1
    least = items_for_error(LARGEST_ERROR)
    return tuple(sorted(counts)) if min(counts.values()) >= least else ()


def _rows(
    chosen: Sequence[Chosen], named: Mapping[str, str], claimed: Sequence[str]
) -> list[dict[str, Any]]:
    rows = []
    wide = max(4, len(str(len(chosen))))
    for number, each in enumerate(chosen, 1):
        question = each.question
        row: dict[str, Any] = {
            "id": f"q{number:0{wide}}",
            "image": named[question.image],
            "prompt": each.prompt,
        }
        # a type that cannot be measured is no label: the item keeps it as its kind
        row["type" if claimed else "kind"] = question.type
        if question.part:
            row["part"] = question.part
        row["target"] = question.target
        if question.rivals:
            row["rivals"] = list(question.rivals)
        rows.append({**row, **question.extra})
    return rows


def _reviewed(
    rows: Sequence[dict[str, Any]], chosen: Sequence[Chosen], review: Review | None
) -> list[tuple[dict[str, Any], Chosen, bool]]:
    """Apply a review: the rows that remain, corrected, and whether each is still as the recipe
    made it.

    Where an item is left out, the item that is answered the other way goes with it, so that its key
    stays balanced.
    """
    paired = list(zip(rows, chosen, strict=True))
    if review is None:
        return [(row, each, True) for row, each in paired]
    unknown = sorted(review.by_item.keys() - {row["id"] for row in rows})
    if unknown:
        raise DataError(
            f"it decides on {unknown[0]}, which is no item of this build",
            location=review.path,
            remedy="Build with the arguments with which the reviewed items were built.",
        )
    decisions = {
        row["id"]: review.by_item.get(row["id"], Reviewed(decision="keep")) for row in rows
    }
    # a picture that is bad is bad for all its items
    bad = {row["image"] for row in rows if decisions[row["id"]].decision == "bad picture"}
    gone = {
        row["id"]
        for row in rows
        if row["image"] in bad or decisions[row["id"]].decision == "ambiguous"
    }
    for row, each in paired:
        if row["id"] in gone and row["target"] in ("yes", "no"):
            partner = next(
                (r["id"] for r, o in paired if _partners(each, o) and r["id"] not in gone), None
            )
            gone |= {partner} if partner else set()
    left = [
        _decided(row, each, decisions[row["id"]]) for row, each in paired if row["id"] not in gone
    ]
    if not left:
        raise DataError("it leaves no item", location=review.path, remedy="Build more items.")
    return left


def _partners(a: Chosen, b: Chosen) -> bool:
    return (
        a.question.target != b.question.target
        and a.wording == b.wording
        and (a.question.key, a.question.part) == (b.question.key, b.question.part)
    )


def _decided(
    row: dict[str, Any], each: Chosen, decided: Reviewed
) -> tuple[dict[str, Any], Chosen, bool]:
    if decided.decision == "fixed text":
        row = {**row, "prompt": decided.text}
    if decided.target and decided.decision in ("wrong key", "fixed text"):
        row = {
            **row,
            "target": decided.target.lower() if row["target"] in ("yes", "no") else decided.target,
        }
    elif decided.decision == "wrong key":
        if row["target"] not in ("yes", "no"):
            raise DataError(
                f"the key of {row['id']} is called wrong, and no other one is given",
                remedy="Write the right answer in the column target.",
            )
        row = {**row, "target": "no" if row["target"] == "yes" else "yes"}
    return row, each, decided.decision == "keep"


def _provenance(
    row: Mapping[str, Any],
    each: Chosen,
    source: Source,
    recipe: Recipe,
    seed: int,
    review: Review | None,
) -> dict[str, Any]:
    question = each.question
    decided = review.by_item.get(row["id"]) if review is not None else None
    made: dict[str, Any] = {
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
        "wording": each.wording % len(question.prompts),
        "matched": (
            None
            if each.matched is None
            else {"key": each.matched.key, "objects": list(each.matched.objects)}
        ),
        "review": None,
    }
    if decided is not None and review is not None:
        made["review"] = {
            "decision": decided.decision,
            "reviewer": decided.reviewer,
            "note": decided.note,
            "file": review.digest,
        }
    return made


def _forms(rows: Sequence[tuple[Mapping[str, Any], Chosen]]) -> dict[str, list[dict[str, Any]]]:
    """Build the forms `wording` (the next wording) and `matched` (another question on the
    picture).
    """
    wording = [
        {"id": row["id"], "prompt": each.reworded, "target": row["target"], "rule": "build.wording"}
        for row, each in rows
    ]
    forms = (
        {"wording": wording}
        if any(w["prompt"] != row["prompt"] for w, (row, _) in zip(wording, rows, strict=True))
        else {}
    )
    if any(each.matched is not None for _, each in rows):
        forms["matched"] = [
            (
                {
                    "id": row["id"],
                    "prompt": each.matched.prompts[each.wording % len(each.matched.prompts)],
                    "target": each.matched.target,
                    "rule": "build.matched",
                }
                if each.matched is not None
                else {
                    "id": row["id"],
                    "prompt": row["prompt"],
                    "left_out": "the picture has no other question of this kind",
                }
            )
            for row, each in rows
        ]
    return forms


def _notes(recipe: Recipe, draft: Draft, left_out: int = 0, attempt: int = 0) -> tuple[str, ...]:
    """What a draft says, and what fell short of its number."""
    made = {"": len(draft.chosen), **Counter(each.question.part for each in draft.chosen)}
    notes = [
        *draft.notes,
        *(
            f"{part}{': ' if part else ''}{made.get(part, 0)} items of {wanted}, for want of"
            f" {recipe.lack}"
            for part, wanted in draft.wanted.items()
            if made.get(part, 0) < wanted
        ),
    ]
    if left_out:
        notes.append(
            f"{left_out} items left out by people's decisions, with those that balanced them"
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

    def __init__(self, source: Source, place: str | None) -> None:
        self.source = source
        self.address = place.rstrip("/") if place is not None and is_url(place) else ""
        self.place: ImageSource | None = None
        if place is not None and not self.address:
            if not Path(place).exists():
                raise UsageError(
                    "there is no such folder or zip", location=place, remedy="Correct --images."
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
