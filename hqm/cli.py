"""The command line: which commands there are, and how one begins and ends."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command

from hqm.commands import help
from hqm.commands.help import WIDTH, CommandGroup, GroupedCommand
from hqm.commands.interrupt import FAILURE, Interrupted, report_failure
from hqm.commands.shared import command
from hqm.errors import HQMError, UsageError
from hqm.version import __version__

GROUP = "hqm.commands"
"""The group of entry points by which another package brings commands."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
"""Errors of a write to a stream, which has no file's name."""
_ROOM = "Make room, or send it elsewhere."

_SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"max_content_width": WIDTH},
}
_LABEL_HELP = (
    "Labels from people: plan what is labelled, collect labels in a browser, watch them, use"
    " them.\n\nThe steps: plan, serve, status, export; then `hqm audit NAME --criterion"
    " labels.csv`."
)

COMMANDS = {
    "list": "data:list_",
    "fetch": "data:fetch_",
    "new": "data:new",
    "build": "build_command:build",
    "check": "data:check",
    "forms": "data:forms",
    "audit": "asking:audit",
    "score": "results:score",
    "table": "table_command:table",
    "gate": "data:gate",
    "report": "reporting:report",
    "compare": "comparing:compare",
    "design": "designing:design",
    "shorten": "designing:shorten",
    "export": "results:export",
    "import": "results:import_",
    "doctor": "machine:doctor",
    "label plan": "label_planning:plan",
    "label serve": "labelling:serve",
    "label status": "labelling:status",
    "label export": "labelling:export",
    "label import": "labelling:import_",
    "label items": "labelling:items",
}
"""Command -> module of `hqm.commands` and function; a module is imported when its command runs."""

KEEPING = {
    "audit": "What was answered is stored; go on with",
    "forms": "What was answered is stored; go on with",
    "import": "What was imported is stored; go on with",
    "fetch": "What was downloaded is kept; go on with",
}
"""What an interrupted command has stored. Commands that are not here write at their end."""


def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            is_eager=True,
            callback=lambda wanted: _show_version(wanted),
            help="Print the version.",
        ),
    ] = False,
    completion: Annotated[
        str | None,
        typer.Option(
            metavar="SHELL",
            is_eager=True,
            callback=lambda shell: _show_completion(shell),
            help=(
                "Print the script by which bash, zsh or fish completes commands, options and names:"
                ' eval "$(hqm --completion bash)" in ~/.bashrc.'
            ),
        ),
    ] = None,
) -> None:
    pass


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"hqm {__version__}")
        raise typer.Exit


def _show_completion(shell: str | None) -> None:
    if shell is not None:
        print(help.completion_script(shell))
        raise typer.Exit


def load_command(name: str) -> Callable[..., None]:
    """Import the function of a command: ours, or one that another package brings."""
    if name in COMMANDS:
        module, _, function = COMMANDS[name].partition(":")
        loaded: Callable[..., None] = getattr(import_module(f"hqm.commands.{module}"), function)
    else:
        loaded = next(iter(entry_points(group=GROUP, name=name))).load()
    return loaded


def program(names: Iterable[str] | None = None) -> typer.Typer:
    """Build the program with these commands, or with all of ours and of other packages.

    Building one command is faster than building all.
    """
    if names is None:
        others = {point.name for point in entry_points(group=GROUP)}
        names = [*COMMANDS, *sorted(others - COMMANDS.keys())]
    about = "A psychometric auditor for hallucination benchmarks of large vision-language models."
    whole = typer.Typer(name="hqm", cls=CommandGroup, help=about, **_SETTINGS)
    whole.callback()(_program)
    label = typer.Typer(name="label", cls=CommandGroup, help=_LABEL_HELP, **_SETTINGS)
    for name in names:
        group, _, word = name.rpartition(" ")
        (label if group else whole).command(word, cls=GroupedCommand)(load_command(name))
    if label.registered_commands:
        whole.add_typer(label)
    return whole


def _parser(word: str) -> Callable[..., Any]:
    """Return the parser of a command line that begins with this word."""
    named = [name for name in COMMANDS if name.partition(" ")[0] == word]
    return get_command(program(named or None))


def main() -> None:
    """Run the command line; an error of HQM is one sentence and a non-zero exit status.

    What is no error of HQM's own is a fault in the program: it ends with status 70, and a file
    keeps what happened.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # a terminal, or a file's name, may not know every character that a benchmark has
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        # whoever closed a stream wants the files all the same
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    help.prepare()
    try:
        try:
            _parser("" if help.VARIABLE in os.environ else "".join(sys.argv[1:2]))(prog_name="hqm")
        finally:
            # a failure to write what stands in the buffer is said as any other
            sys.stdout.flush()
    except HQMError as error:
        print(f"hqm: {error}", file=sys.stderr)
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except (Interrupted, KeyboardInterrupt) as end:
        _say_interrupted(KEEPING.get(str(end), "Nothing was written; begin again with"))
    except SystemExit as end:
        # typer ends without a word when Ctrl-C comes before the command's function has begun, or
        # after it has returned
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            _say_interrupted("What was written is kept; the same command goes on, or begins again")
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM and not error.filename:
            # what stands in the buffer would be written once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"hqm: the output cannot be written: {error.strerror}. {_ROOM}", file=sys.stderr)
            raise SystemExit(1) from None
        if isinstance(error, OSError) and error.filename and error.strerror:
            # what the machine refuses is no fault of the program: a name that is too long, a folder
            # that is closed
            remedy = "Name another file or folder, or correct its permissions."
            print(f"hqm: {str(error.filename)[:300]}: {error.strerror}. {remedy}", file=sys.stderr)
            raise SystemExit(1) from None
        print(f"hqm: {report_failure(error)}", file=sys.stderr)
        raise SystemExit(FAILURE) from None


def _say_interrupted(kept: str) -> NoReturn:
    print(f"hqm: interrupted. {kept}\n  {command()}", file=sys.stderr)
    raise SystemExit(130) from None


if __name__ == "__main__":
    main()
