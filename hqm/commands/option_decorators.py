"""Decorators that give commands, and functions of the Python API, the options of
`hqm.commands.options`.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from hqm.commands.options import FIRST, MACHINE, OPTIONS, Option, RunOptions
from hqm.commands.settings import settings_in_force

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
                "A file of settings: device, batch, prices, ... hqm.toml in this folder, and the"
                " one in your configuration, are read without it."
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
