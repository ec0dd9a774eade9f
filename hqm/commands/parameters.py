"""The command line's options, made from the fields of `RunOptions`.

A command takes the options it names and receives them as one value; they stand where its parameter
`options` does:

    @with_options("part", "data", "as_json")
    def check(*, benchmarks: Benchmarks, options: RunOptions, strict: Strict = False) -> None: ...
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_args, get_type_hints

from hqm.commands.options import RunOptions, Written


@dataclass(frozen=True, slots=True)
class _Option:
    """A field of a group, with the parameter that typer makes an option from."""

    group: str
    name: str
    parameter: inspect.Parameter
    read: Callable[[Any], Any]


def _options() -> dict[str, _Option]:
    options = {}
    kinds = get_type_hints(RunOptions)
    for group in fields(RunOptions):
        kind = kinds[group.name]
        # the benchmark checks these texts; importing their types would load all that a benchmark
        # needs
        hints = get_type_hints(
            kind, localns={"Scoring": str, "Prompts": str, "Withholding": str}, include_extras=True
        )
        for member in fields(kind):
            options[member.name] = _option(group.name, member.name, hints[member.name], kind())
    return options


def _option(group: str, name: str, hint: Any, defaults: Any) -> _Option:
    kind, info, *rest = get_args(hint)
    written = rest[0] if rest else Written(kind, lambda value: value, lambda value: value)
    info = copy.copy(info)
    info.rich_help_panel = info.rich_help_panel or defaults.heading
    parameter = inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=written.write(getattr(defaults, name)),
        annotation=Annotated[written.type, info],
    )
    return _Option(group, name, parameter, written.read)


OPTIONS: Mapping[str, _Option] = _options()
"""Every shared option by the name of its field."""


def with_options(
    *names: str, without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command shared options in place of its parameter `options`.

    Parameters
    ----------
    names
        Options by their fields, and groups by theirs in `RunOptions`.
    without
        Options of the named groups that the command does not have.
    """
    groups = {group.name for group in fields(RunOptions)}
    taken = [OPTIONS[name] for name in names if name not in groups]
    taken += [o for o in OPTIONS.values() if o.group in names and o.name not in without]

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
            values: dict[str, dict[str, Any]] = {}
            for option in taken:
                values.setdefault(option.group, {})[option.name] = option.read(
                    given.pop(option.name)
                )
            kinds = get_type_hints(RunOptions)
            options = RunOptions(
                **{group: kinds[group](**members) for group, members in values.items()}
            )
            command(**given, options=options)

        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return wrapped

    return decorate
