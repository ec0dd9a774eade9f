"""Commands about a benchmark itself: what is known, its release, its data, its forms."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands import show
from hqm.commands.option_decorators import FILE, settings_files, user_settings_file, with_options
from hqm.commands.options import (
    HOW_PANEL,
    OPTIONS,
    OUTPUT_PANEL,
    WHAT_PANEL,
    WHO_PANEL,
    Benchmarks,
    GitHub,
    PolicyFile,
    RunOptions,
)
from hqm.commands.shared import check_output, find_audit, store_path, writable
from hqm.commands.terminal import downloading, print_all, print_table, tell
from hqm.errors import UsageError, check_known
from hqm.extensions import load_extension, missing_extension, names_in
from hqm.files.whole import write_text
from hqm.respondents.base import waiting
from hqm.respondents.kinds import all_kinds
from hqm.types import PARALLEL

if TYPE_CHECKING:
    from hqm.commands.show import Readings
    from hqm.types import Form

CHECKS = "hqm.checks"
"""The group of entry points by which an extension adds to a check what it found itself."""


def list_(
    what: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            help="benchmarks, respondents, parsers, indicators, settings, or what extensions list.",
        ),
    ] = "benchmarks",
) -> None:
    """List what HQM knows: benchmarks, respondents, parsers, indicators, settings."""
    list_kind(what)


@with_options("as_json", "quiet")
def fetch_(
    *,
    benchmarks: Annotated[
        list[str], typer.Argument(rich_help_panel=WHAT_PANEL, help="Names, or all.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="FOLDER",
            help="The folder to write into; the variable HQM_DATA, else ./data, unless given.",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            rich_help_panel=WHAT_PANEL,
            metavar="FOLDER",
            help="A folder that has the files already, in place of the network.",
        ),
    ] = None,
    mirror: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="URL",
            help=(
                "Fetch https://HOST/FILE from URL/HOST/FILE; the variable HQM_MIRROR unless given."
            ),
        ),
    ] = "",
    checksums: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
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
    from hqm.files.images import Checksums

    pins = Checksums.load(checksums) if checksums else Checksums()
    # The option decides over the variable, as everywhere.
    origin = Origin(source, mirror or os.environ.get("HQM_MIRROR", ""), pins)
    output = options.output
    with downloading(output.quiet or output.as_json) as progress:
        results = {}
        is_complete = True
        for card in cards(benchmarks):
            results[card] = list(fetch(card, data_root(data), origin=origin, progress=progress))
            for file in results[card]:
                # A release is usable without its optional files.
                is_complete = is_complete and (file.state != "missing" or file.optional)
    show.fetched(results, output.as_json)
    if not is_complete:
        raise typer.Exit(1)


@with_options(
    "part",
    "limit",
    "data",
    "images",
    "allow_private_images",
    "form_files",
    "scoring",
    "withheld",
    "key",
    "parser",
    "words",
    "mode",
    "prompts",
    "store",
    "as_json",
    "dry_run",
    "no_wait",
    "device",
    "concurrency",
    "price_in",
    "price_out",
)
def check(
    *,
    benchmarks: Benchmarks,
    options: RunOptions,
    select: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=HOW_PANEL,
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
            rich_help_panel=HOW_PANEL,
            metavar="CODES",
            help="All but these findings, named the same way.",
        ),
    ] = None,
    lists: Annotated[
        Path | None,
        typer.Option(
            "--lists",
            rich_help_panel=OUTPUT_PANEL,
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
            "--strict",
            rich_help_panel=HOW_PANEL,
            help="End with status 1 when a warning is left, too.",
        ),
    ] = False,
    exit_zero: Annotated[
        bool,
        typer.Option(
            "--exit-zero", rich_help_panel=HOW_PANEL, help="End with status 0, whatever is found."
        ),
    ] = False,
    reader: Annotated[
        str | None,
        typer.Option(
            "--read-with",
            rich_help_panel=WHO_PANEL,
            metavar="NAME",
            help=(
                "A model that reads the items to read and a random tenth, as advice. --dry-run"
                " tells the cost, --key FILE its agreement with a person."
            ),
        ),
    ] = None,
    github: GitHub = False,
) -> None:
    """Lint a benchmark, before anything is asked: whatever `hqm audit` reads, by the same names and
    options.

    Files, duplicates, labels and leaks, wordings, types, pictures and the wordings of its forms are
    looked at (--form checks one of yours); every oddity that is known of the release is printed
    too. It ends with status 1 when an error is left, as linters do.
    """
    from hqm.benchmark.findings import findings_csv
    from hqm.lint import Selection, lint_benchmarks

    selection = Selection.from_options(select, ignore)
    item_options = options.material
    key = options.reading.key
    if key is not None and len(benchmarks) != 1:
        raise UsageError(
            "a corrected key belongs to one benchmark",
            remedy="Name that benchmark alone with --key.",
        )
    settings = options.loading | {
        "forms": item_options.form_files,
        "part": item_options.part,
        "limit": item_options.limit,
        "key": key,
        "private": item_options.allow_private_images,
    }
    linted = []
    readings: dict[str, Readings | None] = {}
    if reader is not None:
        read_items = load_extension(CHECKS, "--read-with", "an option")
    for name in benchmarks:
        with waiting(f"checking {name}"):
            members = lint_benchmarks(name, selection=selection, **settings)
        linted += members
        if reader is not None:
            # A model is asked after the linter, which names the items worth reading.
            path = store_path([name], options.output.store)
            for report in members:
                readings[report.benchmark] = read_items(report, reader, path, options)
    show.findings(linted, selection, options.output.as_json, readings)
    if github:
        for report in linted:
            show.github_annotations(report, selection, _items_file(benchmarks, report.benchmark))
    rows_by_benchmark = []
    severities: set[str] = set()
    for report in linted:
        rows = [finding.to_dict() for finding in report.selected_findings(selection)]
        rows_by_benchmark.append((report.benchmark, rows))
        severities.update(str(row["severity"]) for row in rows)
    if lists is not None:
        write_text(lists, findings_csv(rows_by_benchmark))
    # notes never end a check with a failure
    has_failures = "error" in severities or (strict and "warning" in severities)
    has_failures = has_failures or not all(report.readable for report in linted)
    if has_failures and not exit_zero:
        raise typer.Exit(1)


def _items_file(folders: Sequence[str], name: str) -> str:
    """The file of the items that a checked benchmark has below this folder, as it is named."""
    from hqm.benchmark.card import Card

    for folder in map(Path, folders):
        if (folder / "card.toml").is_file():
            card = Card.load(folder / "card.toml")
            if card.name == name:
                # As the command named it: GitHub matches the file of an annotation with paths of
                # the repository.
                return os.path.normpath(folder / (card.data.items or "card.toml"))
    return ""


@with_options("part", "data", "store")
def forms(
    *,
    benchmark: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT_PANEL, help="A name, a folder with a card.toml, or a Python file."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL,
            metavar="FILE",
            help="Write the parallel form here as JSON lines, for review.",
        ),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL,
            min=0,
            metavar="N",
            help="How many examples of each rule are shown.",
        ),
    ] = 2,
    form: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help="Which form: parallel, parallel2, ... parallel9, or one of its own.",
        ),
    ] = PARALLEL,
    number: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="N",
            help="So many rewordings that keep the right answers, in place of --form.",
        ),
    ] = None,
    rewriter: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHO_PANEL,
            metavar="NAME",
            help="A model that rephrases what no rule fits, for review; named like a respondent.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Show a parallel form that rules make of a benchmark, or several rewordings (`--number`).

    It prints how many items each rule made, with examples, what was left out and why, changes of
    mode, and what the linter finds in the wordings.
    """
    from hqm.administration.stored_answers import form_named
    from hqm.benchmark.items import select_part
    from hqm.benchmark.registry import load_all
    from hqm.forms.make_forms import wordings_of, write_form
    from hqm.lint.question_checks import check_wordings

    loaded = load_all(benchmark, data=options.material.data)
    for member in loaded:
        # The first wording is the original itself.
        names = [form] if number is None else wordings_of(member.original.tasks, number)[1:]
        for name in names:
            parallel = form_named(member, name)
            original = member.original
            part = options.material.part
            if part:
                original = select_part(original, part, member.name)
                # `restrict_to` cuts the items alone; what was left out of other parts goes as well.
                items_left_out = tuple(row for row in parallel.left_out if row.id in original.by_id)
                parallel = replace(parallel.restrict_to(original.by_id), left_out=items_left_out)
            if rewriter is not None:
                store = options.output.store
                parallel = _rephrase(member.name, original, parallel, rewriter, store)
            show.forms(member.name, original, parallel, examples)
            show.wordings(list(check_wordings(original, parallel)))
            if out is not None:
                # of several benchmarks or forms, the file's name says which one it holds
                stems = [out.stem]
                if len(loaded) > 1:
                    stems.append(member.name)
                if len(names) > 1:
                    stems.append(name)
                path = out.with_name(f"{'-'.join(stems)}{out.suffix}")
                write_form(parallel, path)
                print(f"wrote  {path}")


def _rephrase(name: str, original: Form, parallel: Form, rewriter: str, store: Path | None) -> Form:
    from hqm.administration.rewriter import rephrase_left_out
    from hqm.respondents import make_respondent

    # Replies of the model are kept, so that a form made again asks nothing twice.
    with writable(store_path([name], store)) as opened:
        return rephrase_left_out(original, parallel, make_respondent(rewriter), opened)


# --- hqm list ---


def list_kind(kind: str) -> None:
    """`hqm list`."""
    # what an extension lists that is not installed: the error says how to install it
    if kind not in list_kinds() and (error := missing_extension(kind)):
        raise error
    check_known(kind, list_kinds(), f"there are no {kind!r} to list", "List {}.")
    (LISTINGS.get(kind) or load_extension(LISTED, kind, "a list"))()


def list_kinds() -> tuple[str, ...]:
    """Return what can be listed: by HQM, and by extensions."""
    return (*LISTINGS, *names_in(LISTED))


def _benchmarks() -> None:
    from hqm.benchmark.registry import groups, known_cards

    rows = []
    released_cards, errors = known_cards()
    tell(*map(str, errors))
    for name, released in released_cards.items():
        types = ", ".join(released.types)
        row = (name, released.task, released.version, types, released.licence, released.summary)
        rows.append(row)
    print_table("", ("name", "task", "version", "types", "licence", "what"), rows)
    for group, members in groups().items():
        print_all(f"{group} = {' + '.join(members)}")


def _respondents() -> None:
    """Print the respondents that come with HQM, the families of local models (how each is asked,
    what its questions share, what it needs), and the kinds.
    """
    from hqm.benchmark.registry import known_cards
    from hqm.respondents.hf_families import FAMILIES

    by_name: dict[str, list[str]] = {}
    for name, card in known_cards()[0].items():
        for respondent in card.respondents.embedded:
            by_name.setdefault(respondent, []).append(name)
    answered = ((name, ", ".join(benchmarks)) for name, benchmarks in by_name.items())
    print_table("Embedded", ("name", "answers"), answered)
    shares = {"prefix": "the image prefix", "features": "the vision features", "nothing": "nothing"}
    rows = []
    for family in FAMILIES:
        shared = family.refusal or ": ".join(filter(None, (shares[family.sharing], family.reason)))
        asking_method = "" if family.refusal else "chat template"
        if family.form:
            asking_method += f", else {json.dumps(family.form)}"
        rows.append((family.name, ", ".join(family.types), shared, asking_method))
    columns = ("family", "model_type", "questions share", "asked by")
    print_table("Families of hf/ models", columns, rows)
    print_all(
        "A family that is not listed is tried by its chat template, and checked against plain"
        " generate."
    )
    print_table(
        "Kinds",
        ("name", "what", "price", "runs in this process"),
        (
            (kind.form, kind.meaning, kind.price, "yes" if kind.local else "no")
            for kind in all_kinds()
        ),
    )


def _parsers() -> None:
    from hqm.scoring.parsers import PARSERS

    print_table(
        "",
        ("name", "reads negated questions", "source"),
        ((p.name, "yes" if p.reads_negation else "no", p.source) for p in PARSERS.values()),
    )


def _indicators() -> None:
    from hqm.indicators import INDICATOR_FAMILIES, statistics

    rows = ((indicator.name, indicator.meaning) for indicator in statistics().values())
    print_table("", ("statistic", "what"), rows)
    families = ", ".join(
        f"{family.name} ({family.differs})" for family in INDICATOR_FAMILIES.values()
    )
    print_all(f"Families: {families}, coverage")


def _settings() -> None:
    """Print the settings with their defaults, and the files that change them here."""
    settings = (option for option in OPTIONS.values() if option.setting is not None)
    rows = ((option.name, str(option.keyword.default), option.help) for option in settings)
    print_table("", ("setting", "default", "what"), rows)
    files = settings_files()
    if files:
        print_all(f"Read from {', '.join(map(str, files))}.")
    else:
        print_all(
            f"Write them into {FILE} here, or into {user_settings_file()}; --set NAME=VALUE sets"
            " one."
        )


LISTINGS: Mapping[str, Callable[[], None]] = {
    "benchmarks": _benchmarks,
    "respondents": _respondents,
    "parsers": _parsers,
    "indicators": _indicators,
    "settings": _settings,
}
"""What HQM lists by itself."""
LISTED = "hqm.lists"
"""The group of entry points by which an extension lists what it has."""
CHECKLISTS = "hqm.checklists"
"""The group of entry points by which an extension fills in a checklist of others."""


# --- hqm new, hqm gate ---


def new(
    *,
    name: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            help="The folder to make; its last part is the benchmark's name.",
        ),
    ],
    questions: Annotated[
        str | None,
        typer.Option(
            "--from",
            rich_help_panel=WHAT_PANEL,
            metavar="SOURCE",
            help=(
                "Questions: CSV, TSV, Excel, JSON (lines), Parquet, Arrow, a pattern of files, a"
                " folder of the `datasets` library, a log of lmms-eval, VLMEvalKit, inspect or"
                " Every Eval Ever, or hf://datasets/OWNER/NAME[/CONFIG][@REVISION][#SPLIT]; samples"
                " are made without one."
            ),
        ),
    ] = None,
    images: Annotated[
        str | None,
        typer.Option(
            "--images",
            rich_help_panel=WHAT_PANEL,
            metavar="PLACE",
            help=("The folder or zip of the pictures; by default the folder of the questions."),
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="FIELD=COLUMN,...",
            help=(
                "The columns of question, answer, image, id, type, options, part and"
                " cluster. By default guessed from their names; FIELD= means that"
                " there is none. Repeat it."
            ),
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="NAMES",
            help=("The splits to take, joined by commas; by default all. Each becomes a part."),
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help="yes_no, choice, vqa or caption; by default guessed from the answers.",
        ),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going",
            rich_help_panel=HOW_PANEL,
            help="Leave out rows of which no item can be made, and list them in left_out.csv.",
        ),
    ] = False,
    title: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT_PANEL, metavar="TEXT", help="What reports call the benchmark."
        ),
    ] = "",
    summary: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT_PANEL, metavar="TEXT", help="What it measures, in one sentence."
        ),
    ] = "",
    licence: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="NAME",
            help="The licence of the data, by its SPDX name (CC-BY-4.0).",
        ),
    ] = "",
    citation: Annotated[
        str, typer.Option(rich_help_panel=WHAT_PANEL, metavar="TEXT", help="What to cite.")
    ] = "",
) -> None:
    """Make the folder of a new benchmark.

    It has a card, items, pictures, a README, a policy and a CI workflow. Every row and every
    picture is checked before the folder is made.
    """
    from hqm.commands import new_benchmark

    description = new_benchmark.Description(title, licence, citation, summary)
    new_benchmark.print_new(
        new_benchmark.write_new_benchmark(
            name,
            questions,
            images,
            task,
            description,
            columns=columns or (),
            split=split,
            keep_going=keep_going,
        )
    )


@with_options("as_json")
def gate(
    *,
    audit_file: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            metavar="AUDIT",
            help="An audit.json, or the folder that it lies in.",
        ),
    ],
    policy: PolicyFile = None,
    options: RunOptions,
    junit: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL, metavar="FILE", help="Write the result here as JUnit XML."
        ),
    ] = None,
    github: GitHub = False,
    checklist: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=HOW_PANEL,
            metavar="NAME",
            help=(
                "Fill in a checklist instead (betterbench): which points the audit answers, and"
                " which are the author's to write."
            ),
        ),
    ] = None,
) -> None:
    """Hold an audit against a policy.

    The ends of intervals are compared with thresholds. What was not measured does not pass, and
    every failure says what to do.
    """
    from hqm.auditing.audit import Audit
    from hqm.auditing.gate import Policy, check_against

    check_output(junit, [audit_file])
    audit = Audit.load(find_audit(audit_file))
    # What is left to the author is no failure: a checklist ends with status 0.
    if checklist is not None:
        print_checklists = load_extension(CHECKLISTS, checklist, "a checklist")
        print_checklists(audit, options.output.as_json)
        return
    outcome = check_against(audit, Policy.load(policy))
    if junit is not None:
        write_text(junit, outcome.junit())
    show.gate(outcome, github, options.output.as_json)
    if not outcome.passed:
        raise typer.Exit(1)
