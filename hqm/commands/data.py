"""Commands about a benchmark itself: what is known, its release, its data, its forms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands.options import HOW, OUTPUT, WHAT, WHO, Benchmarks, RunOptions
from hqm.commands.parameters import with_options
from hqm.commands.shared import store_path, writable

if TYPE_CHECKING:
    from hqm.types import Form


def list_(
    what: Annotated[
        str, typer.Argument(rich_help_panel=WHAT, help="benchmarks, respondents, parsers or indicators.")
    ] = "benchmarks",
) -> None:
    """List what HQM knows: benchmarks, respondents, parsers, indicators."""
    from hqm.commands.listing import show_known

    show_known(what)


@with_options("as_json", "quiet")
def fetch_(
    *,
    benchmarks: Annotated[list[str], typer.Argument(rich_help_panel=WHAT, help="Names, or all.")],
    data: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="FOLDER",
            help="The folder to write into; the variable HQM_DATA, else ./data, unless given.",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            rich_help_panel=WHAT,
            metavar="FOLDER",
            help="A folder that has the files already, in place of the network.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Get the files of a release.

    They come at their pinned revision and are checked by checksum. What must be done by hand is said.
    """
    from hqm.benchmark.download import data_root, fetch
    from hqm.benchmark.registry import cards
    from hqm.commands import show
    from hqm.commands.progress import downloading

    output = options.output
    with downloading(output.quiet or output.as_json) as progress:
        results = {
            card: list(fetch(card, data_root(data), source=source, progress=progress)) for card in cards(benchmarks)
        }
    show.fetched(results, output.as_json)
    if any(file.state == "missing" and not file.optional for files in results.values() for file in files):
        raise typer.Exit(1)


@with_options("data", "images", "as_json")
def check(
    *,
    benchmarks: Benchmarks,
    options: RunOptions,
    select: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=HOW,
            metavar="CODES",
            help="Only these findings: codes, beginnings of codes, or names, joined by commas; repeat it.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=HOW, metavar="CODES", help="All but these findings, named the same way."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", rich_help_panel=HOW, help="End with status 1 when an error or warning is left."),
    ] = False,
) -> None:
    """Lint a benchmark, before anything is asked.

    Files, duplicates, labels and leaks, wordings, types and pictures are looked at; every oddity that is known of the
    release is printed too.
    """
    from hqm.commands import show
    from hqm.lint import Selection, lint_benchmarks

    selection = Selection.of(select, ignore)
    what = options.what
    linted = [checked for name in benchmarks for checked in lint_benchmarks(name, data=what.data, images=what.images)]
    show.findings(linted, selection, options.output.as_json)
    grave = any(f.to_dict()["severity"] != "note" for checked in linted for f in checked.wanted(selection))
    if not all(checked.readable for checked in linted) or (strict and grave):
        raise typer.Exit(1)


@with_options("part", "data", "store")
def forms(
    *,
    benchmark: Annotated[
        str, typer.Argument(rich_help_panel=WHAT, help="A name, a folder with a card.toml, or a Python file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT, metavar="FILE", help="Write the parallel form here as JSON lines, for review."
        ),
    ] = None,
    examples: Annotated[
        int, typer.Option(rich_help_panel=OUTPUT, min=0, metavar="N", help="How many examples of each rule are shown.")
    ] = 2,
    rewriter: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHO,
            metavar="NAME",
            help="A model that rephrases what no rule fits, for review; named like a respondent.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Show the parallel form that rules make of a benchmark.

    It prints how many items each rule made, with examples, and what was left out.
    """
    from hqm.benchmark.registry import load_all
    from hqm.commands import show
    from hqm.forms.build import write_form

    loaded = load_all(benchmark, data=options.what.data)
    for member in loaded:
        original = member.original.only(options.what.part) if options.what.part else member.original
        parallel = member.parallel(original)
        if rewriter is not None:
            parallel = _rewritten(member.name, original, parallel, rewriter, options.output.store)
        show.forms(member.name, original, parallel, examples)
        if out is not None:
            path = out if len(loaded) == 1 else out.with_name(f"{out.stem}-{member.name}{out.suffix}")
            write_form(parallel, path)
            print(f"written: {path}")


def _rewritten(name: str, original: Form, parallel: Form, rewriter: str, store: Path | None) -> Form:
    from hqm.administration.rewriter import rephrase_left_out
    from hqm.respondents import make_respondent

    with writable(store_path([name], store)) as opened:
        return rephrase_left_out(original, parallel, make_respondent(rewriter), opened)
