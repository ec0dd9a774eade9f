"""Decorators that give commands, and functions of the Python API, the options of
`hqm.commands.options`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar, get_args, get_type_hints

from hqm.commands.options import OPTIONS, Option, RunOptions

Result = TypeVar("Result")


def _named(names: Sequence[str], without: Sequence[str]) -> list[Option]:
    """The options of these names, and those of the groups of these names in `RunOptions`."""
    groups = {group.name for group in fields(RunOptions)}
    options = [OPTIONS[name] for name in names if name not in groups]
    return options + [o for o in OPTIONS.values() if o.group in names and o.name not in without]


def with_options(
    *names: str, without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command of the command line shared options in place of its parameter `options`.

        @with_options("part", "data", "as_json")
        def check(*, benchmarks: Benchmarks, options: RunOptions) -> None: ...

    Parameters
    ----------
    names
        Options by their fields, and groups by theirs in `RunOptions`.
    without
        Options of the named groups that the command does not have.
    """
    taken = _named(names, without)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "options":
                parameters += [option.parameter for option in taken]
            else:
                parameters.append(parameter.replace(annotation=hints[parameter.name]))

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            values = {option.name: given.pop(option.name) for option in taken}
            command(**given, options=RunOptions.of(values))

        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return wrapped

    return decorate


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
        outer = inner.replace(parameters=parameters)

        @functools.wraps(function)
        def wrapped(*arguments: Any, **keywords: Any) -> Result:
            given = outer.bind(*arguments, **keywords).arguments
            values = {name: value for name, value in given.items() if name in taken}
            options = RunOptions.of(defaults | values)
            own = inspect.BoundArguments(
                inner, {n: value for n, value in given.items() if n not in taken}
            )
            return function(*own.args, **own.kwargs, options=options)

        wrapped.__signature__ = outer  # type: ignore[attr-defined]
        helps = (
            f"{name}\n    {get_args(option.parameter.annotation)[1].help}"
            for name, option in taken.items()
        )
        wrapped.__doc__ = "\n".join(
            [inspect.getdoc(function) or "", "", "Options", "-------", *helps]
        )
        return wrapped

    return decorate
