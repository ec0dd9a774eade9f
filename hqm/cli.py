"""The command line: its commands, and how a command starts and ends."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from hqm.commands import help
from hqm.commands.help import WIDTH, CommandGroup, GroupedCommand
from hqm.commands.interrupt import FAILURE, Interrupted, report_failure
from hqm.commands.shared import command
from hqm.errors import HQMError, UsageError
from hqm.extensions import load_extension, names_in
from hqm.text import visible
from hqm.version import __version__

GROUP = "hqm.commands"
"""The group of entry points by which another package brings commands: `name` or `group name`."""
GROUP_HELP = "hqm.command_groups"
"""The group of entry points by which it brings the help text of a group of commands."""

_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
"""Errors of a write to a stream, which has no file's name."""
_WRITE_REMEDY = "Make room, or send it elsewhere."

_typer = partial(
    typer.Typer,
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": WIDTH},
)
COMMANDS = {
    "list": "data:list_",
    "fetch": "data:fetch_",
    "new": "data:new",
    "check": "data:check",
    "forms": "data:forms",
    "audit": "asking:audit",
    "score": "results:score",
    "gate": "data:gate",
    "report": "reporting:report",
    "compare": "comparing:compare",
    "export": "results:export",
    "import": "results:import_",
    "doctor": "machine:doctor",
}
"""Command -> module of `hqm.commands` and function; a module is imported when its command runs."""

STORED_WHEN_INTERRUPTED = {
    "audit": "What was answered is stored; go on with",
    "forms": "What was answered is stored; go on with",
    "import": "What was imported is stored; go on with",
    "fetch": "What was downloaded is kept; go on with",
}
"""The sentence about what an interrupted command has stored. All others write at their end."""


def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            is_eager=True,
            callback=lambda version: _show_version(version),
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


def _show_version(version: bool) -> None:
    if version:
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
        loaded = load_extension(GROUP, name, "a command")
    return loaded


def program(names: Iterable[str] | None = None) -> typer.Typer:
    """Build the program with these commands, or with all of ours and of other packages.

    Building one command is faster than building all.
    """
    if names is None:
        names = [*COMMANDS, *(name for name in names_in(GROUP) if name not in COMMANDS)]
    summary = "A psychometric auditor for hallucination benchmarks of large vision-language models."
    app = _typer(name="hqm", help=summary)
    app.callback()(_program)
    groups: dict[str, typer.Typer] = {"": app}
    for name in names:
        group, _, word = name.rpartition(" ")
        if group not in groups:
            text = load_extension(GROUP_HELP, group, "a group of commands")
            groups[group] = _typer(name=group, help=text)
            app.add_typer(groups[group])
        groups[group].command(word, cls=GroupedCommand)(load_command(name))
    return app


def _parser(word: str) -> Callable[..., object]:
    """Return the parser of a command line that begins with this word."""
    names = _beginning_with(word, COMMANDS)
    # only where it must be known: to ask for what is installed takes a fiftieth of a second
    if word and not names:
        names = _beginning_with(word, names_in(GROUP))
    return get_command(program(names or None))


def _beginning_with(word: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.partition(" ")[0] == word]


def main() -> None:
    """Run the command line; an error of HQM is one sentence and a non-zero exit status.

    Any other error is a fault in the program: it ends with status 70, and a file keeps the
    traceback.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # a terminal, or a file's name, may not know every character that a benchmark has
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        # a closed stream is no reason not to write the files
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    help.prepare()
    try:
        try:
            _parser("" if help.VARIABLE in os.environ else "".join(sys.argv[1:2]))(prog_name="hqm")
        finally:
            # an error while the buffer is written is reported as any other
            sys.stdout.flush()
    except HQMError as error:
        print(f"hqm: {visible(str(error))}", file=sys.stderr)
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except (Interrupted, KeyboardInterrupt) as end:
        _say_interrupted(
            STORED_WHEN_INTERRUPTED.get(str(end), "Nothing was written; begin again with")
        )
    except SystemExit as end:
        # typer ends without a word when Ctrl-C comes before the command's function has begun, or
        # after it has returned
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            _say_interrupted("What was written is kept; the same command goes on, or begins again")
        raise
    except Exception as error:
        # until Python 3.12, Ctrl-C while a class of an import is made comes as a RuntimeError
        if isinstance(error.__cause__, KeyboardInterrupt):
            _say_interrupted("What was written is kept; the same command goes on, or begins again")
        if isinstance(error, OSError) and error.errno in _WRITE_ERRORS and not error.filename:
            # Python would write the buffer once more when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(
                f"hqm: the output cannot be written: {error.strerror}. {_WRITE_REMEDY}",
                file=sys.stderr,
            )
            raise SystemExit(1) from None
        if isinstance(error, OSError) and error.filename and error.strerror:
            # an error of the file system is no fault of the program: a name that is too long, a
            # folder without permission
            remedy = "Name another file or folder, or correct its permissions."
            print(
                f"hqm: {visible(str(error.filename)[:300])}: {error.strerror}. {remedy}",
                file=sys.stderr,
            )
            raise SystemExit(1) from None
        print(f"hqm: {visible(report_failure(error))}", file=sys.stderr)
        raise SystemExit(FAILURE) from None


def _say_interrupted(sentence: str) -> NoReturn:
    print(f"hqm: interrupted. {sentence}\n  {visible(command())}", file=sys.stderr)
    raise SystemExit(130) from None


if __name__ == "__main__":
    main()
