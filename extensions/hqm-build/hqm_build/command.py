"""The command that builds a benchmark from annotations."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import HOW_PANEL, WHAT_PANEL, WHO_PANEL, RunOptions
from hqm.commands.shared import store_path, writable
from hqm.commands.terminal import print_lines, print_table
from hqm.respondents.base import waiting
from hqm.types import finite

if TYPE_CHECKING:
    from hqm_build.building import Build
    from hqm_build.measuring import Measured


@with_options("store", "as_json")
def build(
    *,
    recipe: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            metavar="RECIPE",
            help="A recipe: `hqm list recipes` names them.",
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            rich_help_panel=WHAT_PANEL,
            metavar="SOURCE",
            help=(
                "The annotations: shapes (drawn scenes), or a file or folder of COCO,"
                " Visual Genome, GQA or AMBER; READER:PLACE where the layout is not"
                " recognised."
            ),
        ),
    ] = "shapes",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            rich_help_panel=WHAT_PANEL,
            metavar="FOLDER",
            help="The folder to make; its last part is the name.",
        ),
    ],
    items: Annotated[
        int,
        typer.Option(
            "--items",
            rich_help_panel=WHAT_PANEL,
            min=2,
            max=200_000,
            metavar="N",
            help="How many items are wanted.",
        ),
    ] = 300,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            rich_help_panel=HOW_PANEL,
            min=0,
            metavar="N",
            help="The same seed gives the same bytes.",
        ),
    ] = 0,
    images: Annotated[
        str | None,
        typer.Option(
            "--images",
            rich_help_panel=WHAT_PANEL,
            metavar="PLACE",
            help=(
                "The pictures: a folder, a zip, or a web address to which their names are appended."
            ),
        ),
    ] = None,
    reviewed: Annotated[
        Path | None,
        typer.Option(
            "--reviewed",
            rich_help_panel=WHAT_PANEL,
            metavar="FILE",
            help=(
                "People's decisions about the items of this build: CSV or JSON lines with item and"
                " decision."
            ),
        ),
    ] = None,
    writer: Annotated[
        str,
        typer.Option(
            "--writer",
            rich_help_panel=WHO_PANEL,
            metavar="NAME",
            help=(
                "Who writes wrong captions: offline (templates), or a model, named"
                " like a respondent."
            ),
        ),
    ] = "offline",
    checker: Annotated[
        str,
        typer.Option(
            "--filter",
            rich_help_panel=WHO_PANEL,
            metavar="NAME",
            help=(
                "Who checks that they are wrong: offline (rules) or a model; what may"
                " be true is left out."
            ),
        ),
    ] = "offline",
    options: RunOptions,
) -> None:
    """Build a benchmark from annotations, without the leaks of the ones that were built so before.

    What the recipe says that its result must not have is measured and printed. Where the result has
    it, the command says by how much, and ends with status 1.
    """
    from hqm_build.building import OFFLINE
    from hqm_build.building import build as build_from

    asks_models = writer != OFFLINE or checker != OFFLINE
    opened = (
        writable(store_path([out.name], options.output.store)) if asks_models else nullcontext()
    )
    with waiting(f"building {out}"), opened as store:
        built = build_from(
            recipe,
            source,
            out,
            items=items,
            seed=seed,
            images=images,
            reviewed=reviewed,
            writer=writer,
            checker=checker,
            store=store,
        )
    if options.output.as_json:
        print(json.dumps(_build_data(built), indent=2, ensure_ascii=False))
    else:
        _print_build(built)
    if not built.keeps_promises:
        raise typer.Exit(1)


def _build_data(built: Build) -> dict[str, Any]:
    """Return what was built and measured, as JSON data."""
    measured, cue = built.measured, built.measured.cue
    return {
        "recipe": built.recipe.name,
        "folder": str(built.folder),
        "source": {
            "name": built.source.name,
            "reader": built.source.reader,
            "digest": built.source.digest,
            "pictures": len(built.source.graphs),
        },
        "items": len(measured.form),
        "parts": dict(measured.part_counts),
        "types": dict(measured.by_type),
        "labels": {part: dict(labels) for part, labels in measured.by_label.items()},
        "claimed": list(built.claimed),
        "measurable": list(measured.measurable),
        "forms": list(built.forms),
        "matched": built.matched,
        "words_alone": [
            {
                "part": word_rule.part,
                "items": word_rule.items,
                "accuracy": finite(word_rule.accuracy),
                "baseline": finite(word_rule.baseline),
                "reason": word_rule.reason,
            }
            for word_rule in measured.words
        ],
        "lengths": [
            {
                "part": length_rule.part,
                "accuracy": finite(length_rule.accuracy),
                "rule": length_rule.sentence,
            }
            for length_rule in measured.lengths
        ],
        "strongest_cue": (
            None
            if cue is None
            else {"cue": cue.cue, "where": cue.name, "gain": finite(cue.gain), "shown": cue.shown}
        ),
        "findings": [f"{code}" for code in measured.codes],
        "notes": list(measured.notes),
        "precision": (
            None
            if measured.precision is None
            else {
                "kept": measured.precision.n_kept,
                "reviewed": measured.precision.n_reviewed,
                "value": measured.precision.value,
                "low": measured.precision.low,
                "high": measured.precision.high,
            }
        ),
        "must_not": [
            {
                "name": promise.name,
                "measured": promise.sentence,
                "value": finite(promise.value),
                "limit": promise.limit,
                "relation": promise.relation,
                "kept": promise.kept,
                "excess": finite(promise.excess),
            }
            for promise in built.promises
        ],
        "kept": built.keeps_promises,
    }


def _print_build(built: Build) -> None:
    measured = built.measured
    pictures = len({item.image for item in measured.form.items})
    print(
        f"{built.folder}: {len(measured.form)} items about {pictures} pictures, by"
        f" {built.recipe.name} from {built.source.name}"
    )
    columns = ("part", "items", "answers", "words alone", "commonest answer", "counting words")
    print_table("", columns, _part_rows(measured))
    _print_types(built)
    folder = shlex.quote(str(built.folder))
    print_lines(
        *_measured_lines(built),
        f"next:\n  hqm check {folder} --strict\n  hqm audit {folder} -r hf/MODEL --out {folder}/out"
        f"\n  hqm gate {folder}/out/audit.json --policy {folder}/policy.toml",
        f"whether {len(measured.form):,} items are enough:",
        f"  hqm design {folder}/out/audit.json --target 'mdd<=.03'",
    )


def _part_rows(measured: Measured) -> Iterator[tuple[str, ...]]:
    """Yield the row of each part: its answers, and how many are right without the pictures."""
    word_results = {result.part: result for result in measured.words}
    length_results = {result.part: result for result in measured.lengths}
    for part, count in measured.part_counts.items():
        labels = sorted(measured.by_label.get(part, {}).items())
        answers = ", ".join(f"{label} {number}" for label, number in labels)
        words = ("not asked", "")
        if part in word_results:
            words = (_share(word_results[part].accuracy), _share(word_results[part].baseline))
        length = _share(length_results[part].accuracy) if part in length_results else ""
        yield (part or "all", f"{count:,}", answers or "open", *words, length)


def _measured_lines(built: Build) -> Iterator[str]:
    """Yield what was measured of a build, and which requirements of its recipe are met."""
    measured = built.measured
    cue = measured.cue
    if cue is not None:
        yield (
            f"strongest cue of position, numbering or surface: {cue.cue} in {cue.name}, gain"
            f" {cue.gain:+.3f}, {'more' if cue.shown else 'no more'} than chance explains"
        )
    repeats = (
        f"{measured.count('duplicate-question')} repeated questions,"
        f" {measured.count('near-duplicate-question')} near-duplicates"
    )
    n_similar = measured.count("near-duplicate-image") + measured.count("image-twice")
    pictures = f"{n_similar} pictures alike"
    if not measured.pictures_checked:
        pictures = "pictures not at hand, not compared"
    yield f"duplicates: {repeats}; {pictures}"
    yield (
        f"forms: {', '.join(built.forms) or 'none'}; {built.matched} of {len(measured.form)} items"
        " have a matched item"
    )
    precision = measured.precision
    if precision is None:
        yield "people kept: not measured; decide on review.csv and name it with --reviewed"
    else:
        requirement = "" if precision.is_sufficient else " (100 are asked for)"
        yield (
            f"people kept {precision.n_kept} of {precision.n_reviewed} reviewed items{requirement}:"
            f" {precision.value:.3f} [{precision.low:.3f}, {precision.high:.3f}]"
        )
    for note in measured.notes:
        yield f"note: {note}"
    yield f"findings of a check: {', '.join(measured.codes) or 'none'}"
    for promise in built.promises:
        outcome = "met" if promise.kept else f"MISSED by {promise.excess:.3f}"
        yield f"requirement {outcome}: {promise.sentence}; required is {promise.required}"


def _print_types(built: Build) -> None:
    from hqm.lint.answer_leaks import LARGEST_ERROR
    from hqm.psychometrics import items_for_error

    min_items = items_for_error(LARGEST_ERROR)
    counts = sorted(built.measured.by_type.items())
    types = ", ".join(f"{kind} {count}" for kind, count in counts if kind)
    claim = (
        f"a score of its own takes {min_items} items (standard error .03), so that the card claims"
        " no type and the items have it as `kind`"
    )
    if built.claimed:
        claim = f"each has the {min_items} items for a score of its own (standard error .03)"
    print(f"types: {types}; {claim}")


def _share(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "not measured"


def list_recipes() -> None:
    """`hqm list recipes`."""
    from hqm_build.source import recipe_named, recipe_names

    recipes = map(recipe_named, recipe_names())
    print_table(
        "",
        ("name", "task", "what", "must not have", "needs"),
        ((r.name, r.task, r.summary, r.must_not, r.needs) for r in recipes),
    )
