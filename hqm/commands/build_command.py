"""The command that builds a benchmark from annotations."""

from __future__ import annotations

import json
import math
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import HOW, WHAT, WHO, RunOptions
from hqm.commands.shared import store_path, writable
from hqm.commands.terminal import print_lines, print_table
from hqm.respondents.base import waiting
from hqm.types import finite

if TYPE_CHECKING:
    from hqm.builders.building import Build


@with_options("store", "as_json")
def build(
    *,
    recipe: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT, metavar="RECIPE", help="A recipe: `hqm list recipes` names them."
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            rich_help_panel=WHAT,
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
            rich_help_panel=WHAT,
            metavar="FOLDER",
            help="The folder to make; its last part is the name.",
        ),
    ],
    items: Annotated[
        int,
        typer.Option(
            "--items",
            rich_help_panel=WHAT,
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
            rich_help_panel=HOW,
            min=0,
            metavar="N",
            help="The same seed gives the same bytes.",
        ),
    ] = 0,
    images: Annotated[
        str | None,
        typer.Option(
            "--images",
            rich_help_panel=WHAT,
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
            rich_help_panel=WHAT,
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
            rich_help_panel=WHO,
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
            rich_help_panel=WHO,
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
    from hqm.builders.building import OFFLINE
    from hqm.builders.building import build as build_from

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
        print(json.dumps(_data(built), indent=2, ensure_ascii=False))
    else:
        _show(built)
    if not built.kept:
        raise typer.Exit(1)


def _data(built: Build) -> dict[str, Any]:
    """What was built and measured, as JSON data."""
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
        "parts": dict(measured.by_part),
        "types": dict(measured.by_type),
        "labels": {part: dict(labels) for part, labels in measured.by_label.items()},
        "claimed": list(built.claimed),
        "measurable": list(measured.measurable),
        "forms": list(built.forms),
        "matched": built.matched,
        "words_alone": [
            {
                "part": w.part,
                "items": w.items,
                "accuracy": finite(w.accuracy),
                "baseline": finite(w.baseline),
                "reason": w.reason,
            }
            for w in measured.words
        ],
        "lengths": [
            {"part": each.part, "accuracy": finite(each.accuracy), "rule": each.sentence}
            for each in measured.lengths
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
                "kept": measured.precision.kept,
                "reviewed": measured.precision.reviewed,
                "value": measured.precision.value,
                "low": measured.precision.low,
                "high": measured.precision.high,
            }
        ),
        "must_not": [
            {
                "name": p.name,
                "measured": p.sentence,
                "value": finite(p.value),
                "limit": p.limit,
                "kept": p.kept,
                "excess": finite(p.excess),
            }
            for p in built.promises
        ],
        "kept": built.kept,
    }


def _show(built: Build) -> None:

    measured = built.measured
    pictures = len({item.image for item in measured.form.items})
    print(
        f"{built.folder}: {len(measured.form)} items about {pictures} pictures, by"
        f" {built.recipe.name} from {built.source.name}"
    )
    labels = measured.by_label
    words = {each.part: each for each in measured.words}
    lengths = {each.part: each for each in measured.lengths}
    rows = []
    for part, count in measured.by_part.items():
        answers = ", ".join(
            f"{label} {number}" for label, number in sorted(labels.get(part, {}).items())
        )
        alone, length = words.get(part), lengths.get(part)
        rows.append(
            (
                part or "all",
                f"{count:,}",
                answers or "open",
                _share(alone.accuracy) if alone else "not asked",
                _share(alone.baseline) if alone else "",
                _share(length.accuracy) if length else "",
            )
        )
    columns = ("part", "items", "answers", "words alone", "commonest answer", "counting words")
    print_table("", columns, rows)
    _show_types(built)
    cue, precision = measured.cue, measured.precision
    repeats = ", ".join(
        f"{measured.count(name)} {words}"
        for name, words in (
            ("duplicate-question", "repeated questions"),
            ("near-duplicate-question", "near-duplicates"),
        )
    )
    alike = measured.count("near-duplicate-image") + measured.count("image-twice")
    of_pictures = f"{alike} pictures alike"
    if not measured.pictures_checked:
        of_pictures = "pictures not at hand, not compared"
    reviewed = "not measured; decide on review.csv and name it with --reviewed"
    if precision is not None:
        asked = "" if precision.enough else " (100 are asked for)"
        reviewed = (
            f"{precision.kept} of {precision.reviewed} reviewed items{asked}:"
            f" {precision.value:.3f} [{precision.low:.3f}, {precision.high:.3f}]"
        )
    folder = shlex.quote(str(built.folder))
    print_lines(
        f"strongest cue of position, numbering or surface: {cue.cue} in {cue.name}, gain"
        f" {cue.gain:+.3f}, {'more' if cue.shown else 'no more'} than chance explains"
        if cue is not None
        else "",
        f"duplicates: {repeats}; {of_pictures}",
        f"forms: {', '.join(built.forms) or 'none'}; {built.matched} of {len(measured.form)} items"
        " have a matched item",
        f"people kept{' ' if precision is not None else ': '}{reviewed}",
        *(f"note: {note}" for note in measured.notes),
        f"findings of a check: {', '.join(measured.codes) or 'none'}",
        *(
            f"promise {'kept' if promise.kept else f'BROKEN by {promise.excess:.3f}'}:"
            f" {promise.sentence}; the limit is {promise.limit:g}"
            for promise in built.promises
        ),
        f"next:\n  hqm check {folder} --strict\n  hqm audit {folder} -r hf/MODEL --out {folder}/out"
        f"\n  hqm gate {folder}/out/audit.json --policy {folder}/policy.toml",
        f"whether {len(measured.form):,} items are enough:",
        f"  hqm design {folder}/out/audit.json --target 'mdd<=.03'",
    )


def _show_types(built: Build) -> None:
    from hqm.lint.answer_leaks import LARGEST_ERROR
    from hqm.psychometrics import items_for_error

    least = items_for_error(LARGEST_ERROR)
    types = ", ".join(
        f"{kind} {count}" for kind, count in sorted(built.measured.by_type.items()) if kind
    )
    alone = (
        f"each has the {least} items for a score of its own (standard error .03)"
        if built.claimed
        else f"a score of its own takes {least} items (standard error .03), so that the card claims"
        " no type and the items have it as `kind`"
    )
    print(f"types: {types}; {alone}")


def _share(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "not measured"
