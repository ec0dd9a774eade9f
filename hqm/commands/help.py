"""`--help` of a command: its options in groups, the common ones first."""

from __future__ import annotations

import shutil
from functools import partial
from itertools import groupby
from typing import Any

from typer.core import TyperCommand, TyperGroup

from hqm.commands.completing import completions
from hqm.commands.interrupt import Interrupted
from hqm.commands.options import HEADINGS, OUTPUT
from hqm.errors import meant

WIDTH = 100
"""The widest line of a help page."""


class CommandGroup(TyperGroup):
    """A program or a group of commands: its help names every command with the whole first sentence
    about it.
    """

    def get_help(self, ctx: Any) -> str:
        """The help page, as wide as the terminal."""
        ctx.terminal_width = _room()
        return super().get_help(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in the order of their use."""
        rows = [
            (name, (self.commands[name].help or "").partition("\n\n")[0])
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join(text.split())) for name, text in rows])


def every_command(program: Any) -> dict[str, Any]:
    """Every command of a program by its words, those of its groups too: `audit`, `label serve`.

    >>> every_command(CommandGroup(name="hqm"))
    {}
    """
    commands: dict[str, Any] = {}
    for name, command in program.commands.items():
        inside = every_command(command) if hasattr(command, "commands") else {}
        commands |= {f"{name} {other}": each for other, each in inside.items()} or {name: command}
    return commands


class Program(CommandGroup):
    """`hqm` itself."""


def _room() -> int:
    """The columns of a help page: those of the terminal, and not so many that a line is hard to
    read.
    """
    return max(min(shutil.get_terminal_size().columns, WIDTH) - 2, 30)


class GroupedCommand(TyperCommand):
    """A command whose arguments and options are sorted and shown by the group that each of them
    names.

    typer shows groups only in its boxes of coloured text; here they are plain, so that a help page
    can be piped and read anywhere. A shell completes the values of its options, a misspelt option
    is answered with the nearest one, and Ctrl-C is told to `hqm.cli`, which says what is kept.
    """

    def __init__(
        self, *arguments: Any, context_settings: dict[str, Any] | None = None, **settings: Any
    ) -> None:
        settings["context_settings"] = {"max_content_width": WIDTH, **(context_settings or {})}
        super().__init__(*arguments, **settings)
        self.params.sort(key=_position)
        for parameter in self.params:
            if (
                complete := completions(self.name or "", parameter.name or "", parameter.opts)
            ) is not None:
                parameter.shell_complete = partial(_complete, complete)  # type: ignore[method-assign]

    def get_help(self, ctx: Any) -> str:
        """The help page, as wide as the terminal."""
        ctx.terminal_width = _room()
        return super().get_help(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; a misspelt option is answered with the nearest one alone."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if hasattr(error, "possibilities") and hasattr(error, "option_name"):
                flags = [flag for parameter in self.get_params(ctx) for flag in parameter.opts]
                message = f"{getattr(error, 'message', error)}. {meant(error.option_name, flags)}".rstrip()
                vars(error).update(message=message, possibilities=None)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; typer would end without a word at Ctrl-C."""
        from hqm.commands.progress import telling_of_waits

        try:
            with telling_of_waits(bool(ctx.params.get("quiet"))):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted(self.name) from None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group that the command has."""
        for heading, parameters in groupby(self.get_params(ctx), key=_heading):
            records = [_record(parameter, ctx) for parameter in parameters]
            with formatter.section(heading):
                formatter.write_dl(records, col_max=min(30, formatter.width // 3))


def _complete(candidates: Any, _ctx: Any, incomplete: str) -> list[Any]:
    return [candidate for candidate in candidates() if candidate.value.startswith(incomplete)]


def _record(parameter: Any, ctx: Any) -> tuple[str, str]:
    """How a parameter is written, and its text; of an argument without Python's name of its
    type.
    """
    written, text = parameter.get_help_record(ctx)
    return (
        written.partition(" <")[0] if parameter.param_type_name == "argument" else written
    ), text


def _heading(parameter: Any) -> str:
    # `--help` is typer's own and names no group
    return getattr(parameter, "rich_help_panel", None) or OUTPUT


def _position(parameter: Any) -> tuple[int, bool]:
    return HEADINGS.index(_heading(parameter)), not parameter.required
