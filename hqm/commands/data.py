"""Commands about a benchmark itself: what is known, its release, its data, its forms."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hqm.commands.options import HOW, OUTPUT, WHAT, WHO, Benchmarks, RunOptions
from hqm.commands.parameters import with_options
from hqm.commands.shared import store_path, writable, write_text
from hqm.errors import UsageError
from hqm.types import PARALLEL, REWORDINGS

if TYPE_CHECKING:
    from hqm.benchmark.interface import Benchmark
    from hqm.types import Form


def list_(
    what: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT, help="benchmarks, respondents, parsers, indicators or recipes."
        ),
    ] = "benchmarks",
) -> None:
    """List what HQM knows: benchmarks, respondents, parsers, indicators, recipes."""
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
    mirror: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="URL",
            help=(
                "Fetch https://HOST/FILE from URL/HOST/FILE; the variable HQM_MIRROR unless given."
            ),
        ),
    ] = "",
    checksums: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="FILE",
            help=(
                "Checksums in place of the card's, as sha256sum prints them: for a mirror of"
                " another revision."
            ),
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Get the files of a release.

    They come at their pinned revision and are checked by checksum. What must be done by hand is
    said. The same command goes on after an interruption.
    """
    from hqm.benchmark.download import Origin, data_root, fetch
    from hqm.benchmark.registry import cards
    from hqm.commands import show
    from hqm.commands.progress import downloading
    from hqm.files.checksums import Checksums

    pins = Checksums.load(checksums) if checksums else Checksums()
    origin = Origin(source, mirror or os.environ.get("HQM_MIRROR", ""), pins)
    output = options.output
    with downloading(output.quiet or output.as_json) as progress:
        results = {
            card: list(fetch(card, data_root(data), origin=origin, progress=progress))
            for card in cards(benchmarks)
        }
    show.fetched(results, output.as_json)
    if any(
        file.state == "missing" and not file.optional
        for files in results.values()
        for file in files
    ):
        raise typer.Exit(1)


@with_options(
    "part",
    "limit",
    "data",
    "images",
    "form_files",
    "scoring",
    "withheld",
    "key",
    "parser",
    "words",
    "mode",
    "prompts",
    "as_json",
)
def check(
    *,
    benchmarks: Benchmarks,
    options: RunOptions,
    select: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=HOW,
            metavar="CODES",
            help=(
                "Only these findings: codes, beginnings of codes, or names, joined by commas;"
                " repeat it."
            ),
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=HOW, metavar="CODES", help="All but these findings, named the same way."
        ),
    ] = None,
    lists: Annotated[
        Path | None,
        typer.Option(
            "--lists",
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help=(
                "Write the complete list of every finding here as CSV: ids, twins, both keys,"
                " pictures."
            ),
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", rich_help_panel=HOW, help="End with status 1 when a warning is left, too."
        ),
    ] = False,
    exit_zero: Annotated[
        bool,
        typer.Option(
            "--exit-zero", rich_help_panel=HOW, help="End with status 0, whatever is found."
        ),
    ] = False,
) -> None:
    """Lint a benchmark, before anything is asked: whatever `hqm audit` reads, by the same names and
    options.

    Files, duplicates, labels and leaks, wordings, types, pictures and the wordings of its forms are
    looked at (--form checks one of yours); every oddity that is known of the release is printed
    too. It ends with status 1 when an error is left, as linters do.
    """
    from hqm.benchmark.finding_lists import findings_csv
    from hqm.commands import show
    from hqm.lint import Selection, lint_benchmarks
    from hqm.respondents.waits import waiting

    selection = Selection.of(select, ignore)
    what, reading, judging = options.what, options.reading, options.judging
    if reading.key is not None and len(benchmarks) != 1:
        raise UsageError(
            "a corrected key belongs to one benchmark",
            remedy="Name that benchmark alone with --key.",
        )
    settings: dict[str, Any] = {
        "scoring": reading.scoring,
        "withheld": reading.withheld,
        "parser": reading.parser,
    }
    settings |= {
        "words": reading.words,
        "mode": judging.mode,
        "prompts": judging.prompts,
        "forms": what.form_files,
    }
    settings |= {
        "data": what.data,
        "images": what.images,
        "part": what.part,
        "limit": what.limit,
        "key": reading.key,
    }
    linted = []
    for name in benchmarks:
        with waiting(f"checking {name}"):
            linted += lint_benchmarks(name, selection=selection, **settings)
    show.findings(linted, selection, options.output.as_json)
    if lists is not None:
        write_text(
            lists,
            findings_csv((c.benchmark, [f.to_dict() for f in c.wanted(selection)]) for c in linted),
        )
    stopping = ("error", "warning") if strict else ("error",)
    grave = any(
        f.to_dict()["severity"] in stopping for checked in linted for f in checked.wanted(selection)
    )
    if (grave or not all(checked.readable for checked in linted)) and not exit_zero:
        raise typer.Exit(1)


@with_options("part", "data", "store")
def forms(
    *,
    benchmark: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT, help="A name, a folder with a card.toml, or a Python file."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help="Write the parallel form here as JSON lines, for review.",
        ),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(
            rich_help_panel=OUTPUT,
            min=0,
            metavar="N",
            help="How many examples of each rule are shown.",
        ),
    ] = 2,
    form: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="NAME",
            help="Which form: parallel, parallel2, parallel3, or one of its own.",
        ),
    ] = PARALLEL,
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
    """Show a parallel form that rules make of a benchmark.

    It prints how many items each rule made, with examples, what was left out and why, changes of
    mode, and what the linter finds in the wordings.
    """
    from hqm.benchmark.items import one_part
    from hqm.benchmark.registry import load_all
    from hqm.commands import show
    from hqm.forms.build import write_form
    from hqm.lint.wordings import check_wordings

    loaded = load_all(benchmark, data=options.what.data)
    for member in loaded:
        parallel = _made(member, form)
        original, part = member.original, options.what.part
        if part:
            original = one_part(original, part, member.name)
            kept = original.by_id
            left_out = tuple(out for out in parallel.left_out if out.id in kept)
            parallel = replace(
                parallel, items=tuple(i for i in parallel.items if i.id in kept), left_out=left_out
            )
        if rewriter is not None:
            parallel = _rewritten(member.name, original, parallel, rewriter, options.output.store)
        show.forms(member.name, original, parallel, examples)
        show.wordings(list(check_wordings(original, parallel)))
        if out is not None:
            path = (
                out if len(loaded) == 1 else out.with_name(f"{out.stem}-{member.name}{out.suffix}")
            )
            write_form(parallel, path)
            print(f"written: {path}")


def _made(benchmark: Benchmark, name: str) -> Form:
    """A form of a benchmark by its name."""
    from hqm.administration.holdings import forms_of

    made = {form.name: form for form in forms_of(benchmark, rewordings=[name])}
    if name not in made:
        known = ", ".join(dict.fromkeys([*REWORDINGS, *list(made)[1:]]))
        raise UsageError(f"{benchmark.name} has no form {name!r}", remedy=f"It has {known}.")
    return made[name]


def _rewritten(
    name: str, original: Form, parallel: Form, rewriter: str, store: Path | None
) -> Form:
    from hqm.administration.rewriter import rephrase_left_out
    from hqm.respondents import make_respondent

    with writable(store_path([name], store)) as opened:
        return rephrase_left_out(original, parallel, make_respondent(rewriter), opened)
