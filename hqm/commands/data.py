"""Commands about a benchmark itself: what is known, its release, its data, its forms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands.options import AsJson, Benchmarks, Data, Images, Part, Quiet, StoreOption
from hqm.commands.shared import store_path, writable

if TYPE_CHECKING:
    from hqm.types import Form


def list_(
    what: Annotated[str, typer.Argument(help="benchmarks, respondents, parsers or indicators.")] = "benchmarks",
) -> None:
    """List what HQM knows: benchmarks, embedded respondents, parsers, indicators."""
    from hqm.commands import show

    show.known(what)


def fetch_(
    benchmarks: Annotated[list[str], typer.Argument(help="Names, or all.")],
    data: Annotated[Path | None, typer.Option(help="The data root; HQM_DATA, else ./data, unless given.")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="A folder that has the files already, in place of the network.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Get the files of a release at their pinned revision, checked by checksum; say what must be done by hand."""
    from hqm.benchmark.download import data_root, fetch
    from hqm.benchmark.registry import cards
    from hqm.commands import show
    from hqm.commands.progress import downloading

    found = cards(benchmarks)
    with downloading(quiet or as_json) as progress:
        results = {one: list(fetch(one, data_root(data), source=source, progress=progress)) for one in found}
    show.fetched(results, as_json)
    if any(file.state == "missing" and not file.optional for files in results.values() for file in files):
        raise typer.Exit(1)


def check(
    benchmarks: Benchmarks,
    data: Data = None,
    images: Images = None,
    select: Annotated[
        list[str] | None,
        typer.Option(help="Only these findings: codes, beginnings of codes, names; commas; repeat it."),
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="All but these findings, named the same way.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with status 1 when an error or warning is left.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Lint a benchmark: files, duplicates, labels and leaks, wordings, types, pictures, and every oddity known of it."""
    from hqm.commands import show
    from hqm.lint import Selection, lint_benchmarks

    selection = Selection.of(select, ignore)
    found = [one for name in benchmarks for one in lint_benchmarks(name, data=data, images=images)]
    show.findings(found, selection, as_json)
    grave = any(one.to_dict()["severity"] != "note" for checked in found for one in checked.wanted(selection))
    if not all(one.readable for one in found) or (strict and grave):
        raise typer.Exit(1)


def forms(
    benchmark: Annotated[str, typer.Argument(help="A name, a folder with a card.toml, or a Python file.")],
    out: Annotated[Path | None, typer.Option(help="Write the parallel form here as JSON lines, for review.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="Examples a rule.")] = 2,
    rewriter: Annotated[
        str | None, typer.Option(help="A model that rephrases what no rule fits, for review; named like a respondent.")
    ] = None,
    store: StoreOption = None,
    data: Data = None,
    part: Part = None,
) -> None:
    """Show the parallel form: how many items each rule made, examples, and what was left out."""
    from hqm.benchmark.registry import load_all
    from hqm.commands import show
    from hqm.forms.build import write_form

    for one in (loaded := load_all(benchmark, data=data)):
        original = one.original.only(part) if part else one.original
        parallel = one.parallel(original)
        if rewriter is not None:
            parallel = _rewritten(one.name, original, parallel, rewriter, store)
        show.forms(one.name, original, parallel, examples)
        if out is not None:
            path = out if len(loaded) == 1 else out.with_name(f"{out.stem}-{one.name}{out.suffix}")
            write_form(parallel, path)
            print(f"written: {path}")


def _rewritten(name: str, original: Form, parallel: Form, rewriter: str, store: Path | None) -> Form:
    from hqm.administration.rewriter import rephrase_left_out
    from hqm.respondents import make_respondent

    with writable(store_path([name], store)) as opened:
        return rephrase_left_out(original, parallel, make_respondent(rewriter), opened)
