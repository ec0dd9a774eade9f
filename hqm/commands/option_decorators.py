"""Decorators that give commands, and functions of the Python API, the options of
`hqm.commands.options`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
import os
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from hqm.commands.options import FIRST, MACHINE, OPTIONS, Option, RunOptions
from hqm.errors import DataError, UsageError

FILE = "hqm.toml"
"""The name of a settings file, in the current folder or in the user's configuration."""


def user_file() -> Path:
    """The settings file of this user, whether it exists or not."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "hqm" / FILE


def files_in_force(machine: Path | None = None) -> list[Path]:
    """Return the settings files that a command reads; later files override earlier ones.

    Raises
    ------
    DataError
        The named file does not exist.
    """
    if machine is not None and not machine.is_file():
        raise DataError("there is no such file", location=str(machine), remedy="Correct --machine.")
    files = [path for path in (user_file(), Path(FILE)) if path.is_file()]
    return [*files, *([] if machine is None else [machine])]


def settings_in_force(
    machine: Path | None, assigned: Sequence[str], known: Collection[str]
) -> dict[str, Any]:
    """Return the values of a command's settings, by name.

    Parameters
    ----------
    machine
        The file of `--machine`.
    assigned
        What `--set` assigns, as NAME=VALUE; it decides over files.
    known
        The settings that the command has. Files may hold further ones, which are for others.

    Raises
    ------
    DataError
        A file is missing or no TOML.
    UsageError
        A name or a value means nothing, or a file in the current folder has a setting that only
        the user may decide.
    """
    values: dict[str, Any] = {}
    for path in files_in_force(machine):
        values |= read_settings(path, of_a_folder=path == Path(FILE) and path != machine)
    values = {name: value for name, value in values.items() if name in known}
    assignments: dict[str, Any] = {}
    for text in assigned:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text!r} has no value", remedy="Write --set NAME=VALUE.")
        read = _checked(name, value, known, "--set")
        # Several of a kind may be assigned one by one: roles=a=x, roles=b=y.
        several = isinstance(read, tuple) and name in assignments
        if name in assignments and not several:
            raise UsageError(f"--set {name} is given twice", remedy="Give it once.")
        assignments[name] = (*assignments[name], *read) if several else read
    return values | assignments


def read_settings(path: Path, *, of_a_folder: bool = False) -> Mapping[str, Any]:
    """Read a settings file: a line for each setting, by the names of `hqm list settings`."""
    try:
        lines = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(
            f"the settings cannot be read: {error}", location=str(path), remedy="Correct the file."
        ) from None
    known = {name for name, option in OPTIONS.items() if option.setting}
    values = {name: _checked(name, value, known, str(path)) for name, value in lines.items()}
    for name in values:
        setting = OPTIONS[name].setting
        if of_a_folder and setting is not None and setting.trusted:
            raise UsageError(
                f"the setting {name} is not taken from a folder, which may be somebody else's",
                location=str(path),
                remedy=f"Move the line to {user_file()}, or name the file with --machine.",
            )
    return values


def _checked(name: str, value: Any, known: Collection[str], place: str) -> Any:
    """Return a setting's value in its own type, from the text of `--set` or a TOML value."""
    from pydantic import TypeAdapter, ValidationError

    if name not in known:
        raise UsageError(
            f"there is no setting {name!r}",
            location=place,
            remedy=_not_a_setting(name, known),
            name=name,
            choices=known,
        )
    option = OPTIONS[name]
    kind = option.keyword.annotation
    if kind == tuple[str, ...] and isinstance(value, str):
        value = value.split(",")
    try:
        truth = isinstance(value, bool) and kind is not bool
        read = None if truth else TypeAdapter(kind).validate_python(value)
    except ValidationError:
        read = None
    least = option.setting.least if option.setting else None
    if read is None or (least is not None and not least <= read < math.inf):
        raise UsageError(
            f"{str(value)!r:.60} is no value of the setting {name}",
            location=place,
            remedy=f"It is: {option.help}",
        )
    return read


def _not_a_setting(name: str, known: Collection[str]) -> str:
    option = OPTIONS.get(name)
    if option is None:
        return "`hqm list settings` names all of them."
    if option.parameter is None:
        return f"This command has {', '.join(sorted(known))}."
    return "It is an option of the command line, and is no setting."


# --- settings: values that seldom change, from files and `--set` ---


Result = TypeVar("Result")

MACHINE_FILE = inspect.Parameter(
    "machine",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=MACHINE,
            metavar="FILE",
            help=(
                "A file of settings (device, batch, prices, ...), read after hqm.toml"
                " in your configuration and in this folder."
            ),
        ),
    ],
)
ASSIGNED = inspect.Parameter(
    "assigned",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            rich_help_panel=MACHINE,
            metavar="NAME=VALUE",
            help="One setting, such as device=cpu; `hqm list settings` has all. Repeat it.",
        ),
    ],
)
"""The two options by which a command gets its settings; a function of Python has a keyword for each
setting, and `machine`.
"""


def _named(names: Sequence[str], without: Sequence[str]) -> list[Option]:
    """The options of these names, and those of the groups of these names in `RunOptions`."""
    groups = {group.name for group in fields(RunOptions)}
    options = [OPTIONS[name] for name in names if name not in groups]
    return options + [o for o in OPTIONS.values() if o.group in names and o.name not in without]


def with_options(
    *names: str, without: Sequence[str] = (), first: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command of the command line shared options in place of its parameter `options`.

        @with_options("part", "data", "as_json")
        def check(*, benchmarks: Benchmarks, options: RunOptions) -> None: ...

    Where there are settings among them, the command gets `--machine` and `--set`.

    Parameters
    ----------
    names
        Options by their fields, and groups by theirs in `RunOptions`.
    without
        Options of the named groups that the command does not have.
    first
        The options that the help page begins with, in this order.
    """
    taken = _named(names, without)
    settings = frozenset(option.name for option in taken if option.setting)
    shared = {o.name: o.parameter for o in taken if o.parameter is not None}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "options":
                parameters += shared.values()
                parameters += [MACHINE_FILE, ASSIGNED] if settings else []
            else:
                parameters.append(parameter.replace(annotation=hints[parameter.name]))
        parameters = _begin_with(first, parameters)

        @functools.wraps(command)
        def wrapped(**values: Any) -> None:
            chosen = {name: values.pop(name) for name in shared}
            if settings:
                machine, assigned = values.pop("machine"), values.pop("assigned") or ()
                chosen |= settings_in_force(machine, assigned, settings)
            command(**values, options=RunOptions.of(chosen))

        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        wrapped.settings = settings  # type: ignore[attr-defined]
        return wrapped

    return decorate


def _begin_with(
    names: Sequence[str], parameters: Sequence[inspect.Parameter]
) -> list[inspect.Parameter]:
    """Put the parameters of these names first, under the first heading of the help page."""
    by_name = {parameter.name: parameter for parameter in parameters}
    ahead = []
    for name in names:
        parameter = by_name.pop(name)
        kind, info = get_args(parameter.annotation)
        info = copy.copy(info)
        info.rich_help_panel = FIRST
        ahead.append(parameter.replace(annotation=Annotated[kind, info]))
    return [*ahead, *by_name.values()]


def with_keywords(
    *names: str, without: Sequence[str] = (), second: str = "", **defaults: Any
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a function of the Python API shared options as keywords, in place of `options`.

    Its docstring gets the help of each. A single value stands for a list of one, a text for a path.

    Parameters
    ----------
    names, without
        As in `with_options`.
    second
        The option that may also be given by its place, behind the first argument.
    defaults
        Values of options in Python that are others than on the command line.
    """
    taken = {option.name: option for option in _named(names, without)}
    settings = {name for name, option in taken.items() if option.setting}

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        inner = inspect.signature(function)
        parameters = [p for p in inner.parameters.values() if p.name != "options"]
        for option in taken.values():
            default = defaults.get(option.name, option.keyword.default)
            keyword = option.keyword.replace(default=default)
            if option.name == second:
                kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
                parameters.insert(1, keyword.replace(kind=kind))
            else:
                parameters.append(keyword)
        parameters += [MACHINE_FILE.replace(annotation=str | Path | None)] if settings else []
        outer = inner.replace(parameters=parameters)

        @functools.wraps(function)
        def wrapped(*arguments: Any, **keywords: Any) -> Result:
            bound = outer.bind(*arguments, **keywords).arguments
            machine = bound.pop("machine", None)
            of_file = {} if machine is None else settings_in_force(Path(machine), (), settings)
            named = {name: value for name, value in bound.items() if name in taken}
            options = RunOptions.of(defaults | of_file | named)
            own = inspect.BoundArguments(
                inner, {n: value for n, value in bound.items() if n not in taken}
            )
            return function(*own.args, **own.kwargs, options=options)

        wrapped.__signature__ = outer  # type: ignore[attr-defined]
        helps = [f"{name}\n    {option.help}" for name, option in taken.items()]
        helps += ["machine\n    A file of settings, as the option `--machine` of the command line."]
        wrapped.__doc__ = "\n".join(
            [inspect.getdoc(function) or "", "", "Options", "-------", *helps]
        )
        return wrapped

    return decorate
