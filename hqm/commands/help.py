"""`--help` of a command: its options in groups, the common ones first."""

from __future__ import annotations

import os
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from typer.core import TyperCommand, TyperGroup, TyperOption

from hqm.commands.interrupt import Interrupted
from hqm.commands.options import HEADINGS, OPTIONS, OUTPUT_PANEL
from hqm.commands.terminal import report_waits
from hqm.errors import UsageError, check_known, meant
from hqm.extensions import missing_extension
from hqm.respondents.kinds import all_kinds, embedded

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter, Parameter

# --- what a shell offers at the Tab key ---

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_HQM_COMPLETE"
"""The environment variable by which a shell asks for completions; typer reads it."""
_LINE = "_HQM_LINE"
"""The command line up to the cursor, as bash has it."""

_BASH = """_hqm_completion() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}"
    local typed="${line##*[[:space:]]}"
    COMPREPLY=( $(_HQM_LINE="$line" _HQM_COMPLETE=complete_bash "$1" 2>/dev/null) )
    # bash takes hf/shapes:steady for three words: only what follows the last mark is replaced
    if [[ "$typed" == *[:=]* ]]; then
        COMPREPLY=( "${COMPREPLY[@]#"${typed%"${typed##*[:=]}"}"}" )
    fi
}
complete -o default -F _hqm_completion hqm"""
"""Our own script for bash, because typer's loses names with a colon."""


def completion_script(shell: str) -> str:
    """Return the script by which a shell completes commands, options and names.

    Raises
    ------
    UsageError
        There is none for this shell.
    """
    commands = map("`hqm --completion {}`".format, SHELLS)
    remedy = f"Write one of {', '.join(commands)}."
    check_known(shell, SHELLS, f"there is no completion for the shell {shell!r}", remedy)
    if shell == "bash":
        return _BASH
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return str(get_completion_script(prog_name="hqm", complete_var=VARIABLE, shell=shell))


def prepare() -> None:
    """Prepare the environment for typer's completion, if a shell asked for completions."""
    if VARIABLE not in os.environ:
        return
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    if (line := os.environ.get(_LINE)) is not None:
        # typer wants the words and the place among them; bash splits at marks that stand inside our
        # names.
        words = _words(line)
        position = len(words) if line[-1:].isspace() else len(words) - 1
        os.environ.update(COMP_WORDS=shlex.join(words), COMP_CWORD=str(position))


def _words(line: str) -> list[str]:
    # At the Tab key a quotation may be open still.
    for ending in ("", "'", '"'):
        try:
            return shlex.split(line + ending)
        except ValueError:  # a quotation that is still open
            continue
    return line.split()


# --- values ---


Values = Iterable[str | tuple[str, str]]
"""Possible values, some of them with a word of explanation."""


class Candidate(NamedTuple):
    """A completion that a shell may offer."""

    value: str
    help: str = ""
    type: str = "plain"


def completions(
    command: str, name: str, flags: Sequence[str]
) -> Callable[[], list[Candidate]] | None:
    """Return the possible values of an argument or option; None where only files are possible."""
    keys = (*(f"{command} {parameter_name}" for parameter_name in (name, *flags)), name, *flags)
    # The first key has the command's name: its values decide over those of all commands.
    values = next(filter(None, map(_VALUES.get, keys)), None)
    if values is None:
        return None
    return lambda: [
        Candidate(*value) if isinstance(value, tuple) else Candidate(value) for value in values()
    ]


def _benchmarks() -> Values:
    from hqm.benchmark.registry import groups, names

    return sorted({*names(), *groups()})


def _respondents() -> Values:
    return [*embedded(), *((f"{kind.name}/", kind.meaning) for kind in all_kinds())]


def _list_kinds() -> Values:
    from hqm.commands.data import list_kinds

    return list_kinds()


def _parsers() -> Values:
    from hqm.scoring.parsers import PARSERS

    return [(name, parser.source) for name, parser in sorted(PARSERS.items())]


def _policies() -> Values:
    from hqm.auditing.policy import POLICIES

    return POLICIES


def _codes() -> Values:
    from hqm.benchmark.findings import CODES

    return [(code.code, code.name) for code in CODES.values()]


_VALUES: dict[str, Callable[[], Values]] = {
    "benchmarks": _benchmarks,
    "benchmark": _benchmarks,
    "--respondent": _respondents,
    "--judge": _respondents,
    "--rewriter": _respondents,
    "--parser": _parsers,
    "--policy": _policies,
    "--select": _codes,
    "--ignore": _codes,
    "--task": lambda: ("yes_no", "choice", "vqa", "caption"),
    "--forms": lambda: ("original", "parallel", "original,parallel"),
    "--scoring": lambda: ("official", "paper"),
    "--set": lambda: [f"{name}=" for name, option in OPTIONS.items() if option.setting],
    "--figure": lambda: ("error_budget", "leaderboard"),
    "list what": _list_kinds,
    "export what": _benchmarks,
    "export --to": lambda: ("inspect", "lmms-eval"),
}
"""Argument or option -> its possible values. A key may begin with a command's name."""


WIDTH = 100
"""The widest line of a help page."""


class CommandGroup(TyperGroup):
    """A program or a group of commands. Its help shows each command's first sentence."""

    def get_help(self, ctx: Context) -> str:
        """The help page, as wide as the terminal."""
        ctx.terminal_width = _page_width()
        return super().get_help(ctx)

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """Find a command by its name; one of an extension that is missing says what to install."""
        if self.get_command(ctx, args[0]) is None and (error := missing_extension(args[0])):
            raise error
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the commands in the order of their use."""
        rows: list[tuple[str, str]] = []
        for name in self.list_commands(ctx):
            # The first paragraph alone, since the page of the command has the rest.
            text, _, _ = (self.commands[name].help or "").partition("\n\n")
            rows.append((name, " ".join(text.split())))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def every_command(program: TyperGroup) -> dict[str, Command]:
    """Return every command of a program by its name, such as `audit` or `label serve`.

    >>> every_command(CommandGroup(name="hqm"))
    {}
    """
    commands: dict[str, Command] = {}
    for name, command in program.commands.items():
        if isinstance(command, TyperGroup):
            for subname, subcommand in every_command(command).items():
                commands[f"{name} {subname}"] = subcommand
        else:
            commands[name] = command
    return commands


def _page_width() -> int:
    """Return the width of a help page: that of the terminal, but at most `WIDTH`."""
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
        # click breaks help at 80 columns unless it is told otherwise.
        settings["context_settings"] = {"max_content_width": WIDTH, **(context_settings or {})}
        super().__init__(*arguments, **settings)
        # `groupby` below takes the options of a heading together only where they stand together.
        self.params.sort(key=_position)
        for parameter in self.params:
            values = completions(self.name or "", parameter.name or "", parameter.opts)
            if values is not None:
                parameter.shell_complete = partial(_complete, values)  # type: ignore[method-assign]

    def get_help(self, ctx: Context) -> str:
        """The help page, as wide as the terminal."""
        ctx.terminal_width = _page_width()
        return super().get_help(ctx)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the arguments; a misspelt option is answered with the nearest one alone, one that
        takes one value is given once, and no other option is taken for its value.
        """
        flags: list[str] = []
        for parameter in self.get_params(ctx):
            flags += parameter.opts
        try:
            # click keeps the last of two values without a word: the arguments are read once more.
            values, _, order = self.make_parser(ctx).parse_args(list(args))
            for option, count in Counter(order).items():
                if not isinstance(option, TyperOption) or option.is_flag:
                    continue
                option_value = values[option.name]
                if count > 1 and not option.multiple:
                    message = f"{option.opts[0]} is given {count} times, but takes one value"
                    raise UsageError(message, remedy="Give it once.")
                for value in option_value if option.multiple else [option_value]:
                    if value in flags:
                        message = f"{option.opts[0]} takes a value, and {value} stands in its place"
                        raise UsageError(message, remedy="`--help` says which value.")
            return super().parse_args(ctx, args)
        except Exception as error:
            # click's error of an option that does not exist: its own suggestions would stand beside
            # ours.
            if hasattr(error, "possibilities") and hasattr(error, "option_name"):
                flag = str(error.option_name)
                remedy = _setting_hint(flag) or meant(flag, flags)
                vars(error).update(
                    message=f"{getattr(error, 'message', error)}. {remedy}".rstrip(),
                    possibilities=None,
                )
            raise

    def invoke(self, ctx: Context) -> object:
        """Run the command; typer would end without a word at Ctrl-C."""

        try:
            with report_waits(bool(ctx.params.get("quiet"))):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted(self.name) from None

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write a section for each group that the command has."""
        for heading, parameters in groupby(self.get_params(ctx), key=_heading):
            records = [_record(parameter, ctx) for parameter in parameters]
            with formatter.section(heading):
                formatter.write_dl(records, col_max=min(30, formatter.width // 3))


def _setting_hint(flag: str) -> str:
    """Say how a setting is written that somebody takes for an option; empty for what is none."""
    option = OPTIONS.get(flag.removeprefix("--").replace("-", "_"))
    if option is None or option.setting is None:
        return ""
    return f"It is a setting: write --set {option.name}=VALUE, or a line in hqm.toml."


def _complete(
    candidates: Callable[[], list[Candidate]], _ctx: object, incomplete: str
) -> list[Any]:
    return [candidate for candidate in candidates() if candidate.value.startswith(incomplete)]


def _record(parameter: Any, ctx: object) -> tuple[str, str]:
    """Return how a parameter is written, and its help text."""
    syntax, text = parameter.get_help_record(ctx)
    return (syntax.partition(" <")[0] if parameter.param_type_name == "argument" else syntax), text


def _heading(parameter: object) -> str:
    # `--help` is typer's own and names no group
    return getattr(parameter, "rich_help_panel", None) or OUTPUT_PANEL


def _position(parameter: Parameter) -> tuple[int, bool]:
    return HEADINGS.index(_heading(parameter)), not parameter.required
