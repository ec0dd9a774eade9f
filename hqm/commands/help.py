"""`--help` of a command: its options in groups, the common ones first."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from typer.core import TyperCommand

from hqm.commands.options import HEADINGS, OUTPUT

WIDTH = 100
"""The widest line of a help page."""


class GroupedCommand(TyperCommand):
    """A command whose arguments and options are sorted and shown by the group that each of them names.

    typer shows groups only in its boxes of coloured text; here they are plain, so that a help page can be piped and read
    anywhere.
    """

    def __init__(self, *arguments: Any, context_settings: dict[str, Any] | None = None, **settings: Any) -> None:
        settings["context_settings"] = {"max_content_width": WIDTH, **(context_settings or {})}
        super().__init__(*arguments, **settings)
        self.params.sort(key=_position)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group that the command has."""
        for heading, parameters in groupby(self.get_params(ctx), key=_heading):
            records = [_record(parameter, ctx) for parameter in parameters]
            with formatter.section(heading):
                formatter.write_dl(records)


def _record(parameter: Any, ctx: Any) -> tuple[str, str]:
    """How a parameter is written, and its text; of an argument without Python's name of its type."""
    written, text = parameter.get_help_record(ctx)
    return (written.partition(" <")[0] if parameter.param_type_name == "argument" else written), text


def _heading(parameter: Any) -> str:
    # `--help` is typer's own and names no group
    return getattr(parameter, "rich_help_panel", None) or OUTPUT


def _position(parameter: Any) -> tuple[int, bool]:
    return HEADINGS.index(_heading(parameter)), not parameter.required
