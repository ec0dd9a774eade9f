"""The commands `hqm shorten` and `hqm design`: what is enough, from an audit."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands.comparing import PricesFile
from hqm.commands.option_decorators import with_options
from hqm.commands.options import HOW_PANEL, OUTPUT_PANEL, WHAT_PANEL, RunOptions
from hqm.commands.shared import find_audit
from hqm.commands.terminal import print_lines, print_table
from hqm.files.whole import write_text
from hqm.respondents.base import waiting

if TYPE_CHECKING:
    from hqm_study.short_form_folder import Shortened


# --- hqm shorten ---


@with_options("data", "images", "families", "as_json")
def shorten(
    *,
    benchmark: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT_PANEL, help="A name, a folder with a card.toml, or a Python file."
        ),
    ],
    audit: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            help="The audit.json whose answers choose the items; its store lies beside it.",
        ),
    ],
    items: Annotated[
        str,
        typer.Option(
            "--items",
            rich_help_panel=WHAT_PANEL,
            metavar="SHARE|N",
            help="How many items a form has: 10% or a number.",
        ),
    ] = "10%",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            rich_help_panel=OUTPUT_PANEL,
            metavar="FOLDER",
            help="The folder to make; its last part is the name.",
        ),
    ],
    forms: Annotated[
        int,
        typer.Option(
            "--forms",
            rich_help_panel=HOW_PANEL,
            min=1,
            max=2,
            metavar="N",
            help="2 for two parallel forms: without a common item, matched in type and difficulty.",
        ),
    ] = 1,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            rich_help_panel=HOW_PANEL,
            min=0,
            metavar="N",
            help="The same seed gives the same forms.",
        ),
    ] = 0,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            rich_help_panel=WHAT_PANEL,
            metavar="FILE",
            help="The audit's store; store.sqlite beside it unless given.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Make a short form of a benchmark: the items that are enough, with what is lost.

    The items are chosen by the respondents of an audit, and what is lost is measured on families of
    respondents that did not choose. The result is the folder of a benchmark whose report has the
    full benchmark's scale.
    """
    from hqm_study.shorten_audit import from_audit, shortened_data

    options = replace(options, output=replace(options.output, store=store))
    with waiting(f"choosing items of {benchmark}"):
        shortened = from_audit(benchmark, find_audit(audit), options, items, out, forms, seed)
    if options.output.as_json:
        print(json.dumps(shortened_data(shortened), indent=2, ensure_ascii=False))
    else:
        _print_shortened(shortened)


def _gain_sentence(gain: float, error: float) -> str:
    """Return the sentence on the gain over as many items drawn at random."""
    if not math.isfinite(gain):
        return "gain over random items: not measured"
    if gain <= 0:
        return f"gain over as many items drawn at random: none (error {error:.4f})"
    return (
        f"gain over as many items drawn at random: error {error - gain:.4f} instead of"
        f" {error:.4f} ({gain / error:.0%} less)"
    )


def _print_shortened(shortened: Shortened) -> None:
    from hqm_study.item_choice import METHODS

    shortening = shortened.shortening
    if len(shortened.forms) == 1:
        forms_text = ""
    else:
        forms_text = " in each of two forms without a common item"
    errors = ", ".join(
        f"{name} {error:.4f}"
        for name, error in sorted(shortening.errors.items(), key=lambda pair: pair[1])
    )
    print_lines(
        f"{shortened.folder}: {shortening.items:,} of the {shortening.full_items:,} items of"
        f" {shortened.benchmark}{forms_text}, chosen by {len(shortening.respondents)} respondents"
        f" of {len(set(shortening.families))} families",
        f"method: {shortening.method}, {METHODS[shortening.method].words} (errors on families left"
        f" out: {errors})",
        _gain_sentence(shortening.gain_over_random, shortening.errors.get("random", math.nan)),
        "what is lost, on families that did not choose the items:",
    )
    print_table(
        "",
        ("form", "metric", "mean error", "Kendall's tau", "intervals that hold", "half width"),
        (
            (
                calibration.form,
                name,
                f"{loss.mean_error:.4f}",
                "not determined" if loss.tau is None else f"{loss.tau:.3f}",
                f"{loss.coverage:.0%} (95% wanted)",
                f"{loss.half_width:.4f}",
            )
            for calibration in shortened.calibrations
            for name, loss in calibration.loss.items()
        ),
    )
    reliabilities = {
        name: estimates["reliability"]
        for name, estimates in shortened.calibrations[0].parallel.items()
    }
    folder = shlex.quote(str(shortened.folder))
    if len(shortened.forms) > 1:
        form_options = f" --form b={folder}/forms/b.jsonl --forms original,b"
    else:
        form_options = ""
    print_lines(
        *(
            f"reliability of the two forms in {name}, on the same families:"
            f" {'not determined' if value is None else f'{value:.3f}'}"
            for name, value in reliabilities.items()
        ),
        f"note: {shortened.missing_pictures} pictures are not there to be copied; put them into"
        f" {shortened.folder}/images"
        if shortened.missing_pictures
        else "",
        f"next:\n  hqm check {folder}\n  hqm audit {folder} --out {folder}/out{form_options}",
    )


@with_options("as_json")
def design(
    *,
    audit_file: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT_PANEL, metavar="AUDIT", help="A file audit.json, or its folder."
        ),
    ],
    targets: Annotated[
        list[str],
        typer.Option(
            "--target",
            rich_help_panel=HOW_PANEL,
            metavar="TEXT",
            help=(
                'What the study must reach, such as "mdd<=.02", "rho_g>=.95" or'
                ' "sem[counting]<=.03"; repeat it.'
            ),
        ),
    ],
    prices: PricesFile = None,
    free: Annotated[
        str,
        typer.Option(
            rich_help_panel=HOW_PANEL,
            metavar="NAMES",
            help=(
                "What may vary: items, pictures, runs, forms, judges, labels,"
                " respondents, joined by commas; by default all that was measured."
            ),
        ),
    ] = "",
    benchmark: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help="Which benchmark of the audit, where it has several.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help="Which metric of the audit; the first of its card unless given.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL,
            metavar="FILE",
            help="Write the answer here as design.json.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Find the cheapest study that reaches your targets.

    It reads an audit and asks nobody. It answers in a sentence, with a table of what each further
    unit buys; a target that no study reaches is refused, with the component that is in the way.
    """
    from hqm_study.cheapest_study import design as find_design

    free_facets = [name.strip() for name in free.split(",") if name.strip()]
    cheapest = find_design(
        find_audit(audit_file),
        targets=targets,
        prices=prices,
        free=free_facets,
        benchmark=benchmark,
        metric=metric,
    )
    if out is not None:
        write_text(out, cheapest.to_json())
    if options.output.as_json:
        print(cheapest.to_json(), end="")
    else:
        print_lines(str(cheapest), f"wrote  {out}" if out is not None else "")


# --- hqm factor ---


@with_options("as_json")
def factor(
    *,
    audits: Annotated[
        list[Path],
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            metavar="AUDIT",
            help="Audits of eight benchmarks or more, in one file or several.",
        ),
    ],
    dates: Annotated[
        Path | None,
        typer.Option(
            "--dates",
            rich_help_panel=WHAT_PANEL,
            metavar="FILE",
            help="A CSV file of the models' release dates: model,date (2026-11-28).",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Say what one factor explains of several benchmarks, also without release dates.

    It takes eight benchmarks and thirty models with a score on each.
    """
    from hqm.auditing.audit import Audit
    from hqm_study.factor_share import one_factor_of_audits

    loaded = [audit for path in audits for audit in Audit.load(find_audit(path)).audits]
    result = one_factor_of_audits(loaded, dates)
    if options.output.as_json:
        print(json.dumps(asdict(result), indent=1))
        return
    print_lines(*result.sentences)
