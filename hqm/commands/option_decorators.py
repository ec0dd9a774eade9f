"""Decorators that give commands, and functions of the Python API, the options of
`hqm.commands.options`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from hqm.commands.options import FIRST_PANEL, MACHINE_PANEL, OPTIONS, Option, RunOptions
from hqm.errors import DataError, UsageError
from hqm.files.records import read_toml
from hqm.moved_names import with_renamed_keywords
from hqm.types import names_of

FILE = "hqm.toml"
"""The name of a settings file, in the current folder or in the user's configuration."""


def user_settings_file() -> Path:
    """The settings file of this user, whether it exists or not."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "hqm" / FILE


def settings_files(machine: Path | None = None) -> list[Path]:
    """Return the settings files that a command reads; later files override earlier ones.

    Raises
    ------
    DataError
        The named file does not exist.
    """
    if machine is not None and not machine.is_file():
        raise DataError("there is no such file", location=str(machine), remedy="Correct --machine.")
    # What is nearer decides: the user's file, then the folder's, then the one that is named.
    files = filter(Path.is_file, (user_settings_file(), Path(FILE)))
    return [*files, *filter(None, (machine,))]


def read_command_settings(
    machine: Path | None, assigned: Sequence[str], setting_names: Collection[str]
) -> dict[str, object]:
    """Return the values of a command's settings, by name.

    Parameters
    ----------
    machine
        The file of `--machine`.
    assigned
        What `--set` assigns, as NAME=VALUE; it decides over files.
    setting_names
        The settings that the command has. Files may hold further ones, which are for others.

    Raises
    ------
    DataError
        A file is missing or no TOML.
    UsageError
        A name or a value means nothing, or a file in the current folder has a setting that only
        the user may decide.
    """
    values: dict[str, object] = {}
    for path in settings_files(machine):
        values |= read_settings(path, is_folder_file=path == Path(FILE) and path != machine)
    # a settings file serves all commands, and each takes the settings that it has
    values = {name: value for name, value in values.items() if name in setting_names}
    assignments: dict[str, object] = {}
    for text in assigned:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text!r} has no value", remedy="Write --set NAME=VALUE.")
        values_read = _check_setting(name, value, setting_names, "--set")
        earlier = assignments.get(name)
        # several of a kind may be assigned one by one: roles=a=x, roles=b=y
        if isinstance(values_read, tuple) and isinstance(earlier, tuple):
            values_read = (*earlier, *values_read)
        elif name in assignments:
            raise UsageError(f"--set {name} is given twice", remedy="Give it once.")
        assignments[name] = values_read
    return values | assignments


def read_settings(path: Path, *, is_folder_file: bool = False) -> Mapping[str, object]:
    """Read a settings file: a line for each setting, by the names of `hqm list settings`."""
    try:
        lines = read_toml(path)
    except DataError as error:
        raise DataError(
            f"the settings cannot be read: {error.message}",
            location=str(path),
            remedy=error.remedy or "Correct the file.",
        ) from None
    # A study is no setting, and is read by `read_study`.
    lines.pop(STUDY, None)
    setting_names = {name for name, option in OPTIONS.items() if option.setting}
    values = {
        name: _check_setting(name, value, setting_names, str(path)) for name, value in lines.items()
    }
    for name in values:
        setting = OPTIONS[name].setting
        # a downloaded folder must not start programs or open addresses
        if is_folder_file and setting is not None and setting.trusted:
            raise UsageError(
                f"the setting {name} is not taken from a folder, which may be somebody else's",
                location=str(path),
                remedy=f"Move the line to {user_settings_file()}, or name the file with --machine.",
            )
    return values


STUDY = "study"
"""The table of a settings file that holds what `hqm audit` without a benchmark audits."""


_STUDY_LINES: Mapping[str, tuple[Any, str]] = {
    "benchmarks": (tuple[str, ...], "a list of the benchmarks' names."),
    "out": (Path, "the folder to write into."),
}
"""The lines of a study that are no shared options: their type, and what they are."""


def read_study(machine: Path | None, option_names: Collection[str]) -> dict[str, Any]:
    """Return the benchmarks and options of the study in a settings file: the last that has one.

    Parameters
    ----------
    machine
        The file of `--machine`.
    option_names
        The options that the command has.

    Raises
    ------
    DataError
        A file is missing or no TOML.
    UsageError
        A name or a value means nothing, or a study in the current folder names an address.
    """
    study: dict[str, Any] = {}
    for path in settings_files(machine):
        table = read_toml(path).get(STUDY)
        if table is None:
            continue
        if not isinstance(table, Mapping):
            raise UsageError(
                "study is no table",
                location=str(path),
                remedy='Write [study] and benchmarks = ["pope"].',
            )
        study = {}
        # The last file that has a study replaces the earlier one as a whole: two studies do not
        # mix.
        for line, value in table.items():
            name = line.replace("-", "_")
            study[name] = _check_study_value(name, value, option_names, str(path))
        if path == Path(FILE) and path != machine:
            _refuse_addresses(study, path)
    return study


def _check_study_value(
    name: str, value: object, option_names: Collection[str], location: str
) -> object:
    """Return the value of a study's line in the type of its option."""
    from pydantic import TypeAdapter, ValidationError

    if name not in (*option_names, *_STUDY_LINES):
        raise UsageError(
            f"a study has no line {name!r}",
            location=location,
            remedy="Its lines are benchmarks, out, and the options of `hqm audit`.",
            name=name,
            choices=(*_STUDY_LINES, *option_names),
        )
    kind, help_text = _STUDY_LINES.get(name, (None, ""))
    try:
        if name in OPTIONS:
            kind = OPTIONS[name].keyword.annotation
            help_text = OPTIONS[name].help
            value = OPTIONS[name].read(value)
        # TOML has true and false: pydantic would take "yes" and 1 for one of them
        return TypeAdapter(kind).validate_python(value, strict=kind is bool)
    except (ValidationError, TypeError, ValueError, AttributeError):
        raise UsageError(
            f"{str(value)!r:.60} is no value of {name}",
            location=location,
            remedy=f"It is: {help_text}",
        ) from None


def _refuse_addresses(study: Mapping[str, Any], path: Path) -> None:
    """Refuse models at addresses in a file of the current folder, which may be somebody else's."""
    for name in ("respondents", "judges"):
        for model in study.get(name, ()):
            if "://" in model:
                raise UsageError(
                    f"the study names an address ({model}), which is not taken from a folder",
                    location=str(path),
                    remedy=f"Name the file with --machine {path}, if it is yours.",
                )


def _check_setting(
    name: str, value: object, setting_names: Collection[str], location: str
) -> object:
    """Return a setting's value in its own type, from the text of `--set` or a TOML value."""
    from pydantic import TypeAdapter, ValidationError

    if name not in setting_names:
        raise UsageError(
            f"there is no setting {name!r}",
            location=location,
            remedy=_not_a_setting(name, setting_names),
            name=name,
            choices=setting_names,
        )
    option = OPTIONS[name]
    kind = option.keyword.annotation
    # a file may write a list, and `--set` writes a text with commas
    if kind == tuple[str, ...] and isinstance(value, str):
        value = value.split(",")
    try:
        # bool is an int in Python: pydantic would take true for 1
        is_misplaced_bool = isinstance(value, bool) and kind is not bool
        if is_misplaced_bool:
            checked_value = None
        else:
            checked_value = TypeAdapter(kind).validate_python(value)
    except ValidationError:
        checked_value = None
    minimum = option.setting.minimum if option.setting else None
    is_out_of_range = (
        minimum is not None
        and isinstance(checked_value, (int, float))
        and not minimum <= checked_value < math.inf
    )
    if checked_value is None or is_out_of_range:
        raise UsageError(
            f"{str(value)!r:.60} is no value of the setting {name}",
            location=location,
            remedy=f"It is: {option.help}",
        )
    return checked_value


def _not_a_setting(name: str, setting_names: Collection[str]) -> str:
    option = OPTIONS.get(name)
    if option is None:
        return "`hqm list settings` names all of them."
    if option.parameter is None:
        return f"This command has {', '.join(sorted(setting_names))}."
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
            rich_help_panel=MACHINE_PANEL,
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
            rich_help_panel=MACHINE_PANEL,
            metavar="NAME=VALUE",
            help="One setting, such as device=cpu; `hqm list settings` has all. Repeat it.",
        ),
    ],
)
"""The two options by which a command gets its settings; a function of Python has a keyword for each
setting, and `machine`.
"""


def _select_options(names: Sequence[str], excluded: Sequence[str]) -> list[Option]:
    """The options of these names, and those of the groups of these names in `RunOptions`."""
    groups = names_of(fields(RunOptions))
    options = (OPTIONS[name] for name in names if name not in groups)
    members = [
        option
        for option in OPTIONS.values()
        if option.group in names and option.name not in excluded
    ]
    return [*options, *members]


def with_options(
    *names: str, excluded: Sequence[str] = (), first: Sequence[str] = (), study: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command of the command line shared options in place of its parameter `options`.

        @with_options("part", "data", "as_json")
        def check(*, benchmarks: Benchmarks, options: RunOptions) -> None: ...

    Where there are settings among them, the command gets `--machine` and `--set`.

    Parameters
    ----------
    names
        Options by their fields, and groups by theirs in `RunOptions`.
    excluded
        Options of the named groups that the command does not have.
    first
        The options that the help page begins with, in this order.
    study
        Whether the command without a benchmark takes the study of a settings file.
    """
    selected = _select_options(names, excluded)
    settings = frozenset(option.name for option in selected if option.setting)
    shared = {option.name: option.parameter for option in selected if option.parameter is not None}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "options":
                parameters += shared.values()
                parameters += [MACHINE_FILE, ASSIGNED] if settings else []
            else:
                parameters.append(parameter.replace(annotation=hints[parameter.name]))
        parameters = _move_first(first, parameters)

        @functools.wraps(command)
        def wrapped(**values: Any) -> None:
            option_values = {name: values.pop(name) for name in shared}
            if settings:
                machine = values.pop("machine")
                assigned = values.pop("assigned") or ()
                option_values |= read_command_settings(machine, assigned, settings)
                # a benchmark on the command line leaves the study aside
                if study and not values["benchmarks"]:
                    lines = read_study(machine, shared)
                    values["benchmarks"] = list(lines.pop("benchmarks", ()))
                    study_folder = lines.pop("out", None)
                    values["out"] = values["out"] or study_folder
                    # what stands on the command line decides over the study
                    for name, value in lines.items():
                        # A value that is typed and equals the default cannot be told from none: the
                        # study has it then.
                        if option_values[name] == shared[name].default:
                            option_values[name] = value
            command(**values, options=RunOptions.from_values(option_values))

        # typer reads the options from the signature of the function that it is given
        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        wrapped.settings = settings  # type: ignore[attr-defined]
        return wrapped

    return decorate


def _move_first(
    names: Sequence[str], parameters: Sequence[inspect.Parameter]
) -> list[inspect.Parameter]:
    """Put the parameters of these names first, under the first heading of the help page."""
    by_name = {parameter.name: parameter for parameter in parameters}
    moved = []
    for name in names:
        parameter = by_name.pop(name)
        kind, info = get_args(parameter.annotation)
        # a copy, because other commands show the option under its own heading
        info = copy.copy(info)
        info.rich_help_panel = FIRST_PANEL
        moved.append(parameter.replace(annotation=Annotated[kind, info]))
    return [*moved, *by_name.values()]


def with_keywords(
    *names: str, excluded: Sequence[str] = (), second: str = "", **defaults: object
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a function of the Python API shared options as keywords, in place of `options`.

    Its docstring gets the help of each. A single value stands for a list of one, a text for a path.

    Parameters
    ----------
    names, excluded
        As in `with_options`.
    second
        The option that may also be given by its place, behind the first argument.
    defaults
        Values of options in Python that are others than on the command line.
    """
    selected = {option.name: option for option in _select_options(names, excluded)}
    settings = {name for name, option in selected.items() if option.setting}

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        inner = inspect.signature(function)
        parameters = [p for p in inner.parameters.values() if p.name != "options"]
        for option in selected.values():
            default = defaults.get(option.name, option.keyword.default)
            keyword = option.keyword.replace(default=default)
            if option.name == second:
                kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
                # The second place, as in `hqm.run(benchmark, respondents)`.
                parameters.insert(1, keyword.replace(kind=kind))
            else:
                parameters.append(keyword)
        parameters += [MACHINE_FILE.replace(annotation=str | Path | None)] if settings else []
        outer = inner.replace(parameters=parameters)

        @functools.wraps(function)
        def wrapped(*arguments: object, **keywords: object) -> Result:
            bound = outer.bind(*arguments, **keywords).arguments
            machine = bound.pop("machine", None)
            if machine is None:
                file_values = {}
            else:
                file_values = read_command_settings(Path(machine), (), settings)
            # Only what was given, so that the file decides over defaults and the call over both.
            option_values = {name: bound.pop(name) for name in selected if name in bound}
            options = RunOptions.from_values(defaults | file_values | option_values)
            # what is left are the function's own arguments
            function_arguments = inspect.BoundArguments(inner, bound)
            return function(*function_arguments.args, **function_arguments.kwargs, options=options)

        wrapped.__signature__ = outer  # type: ignore[attr-defined]
        helps = [f"{name}\n    {option.help}" for name, option in selected.items()]
        helps += ["machine\n    A file of settings, as the option `--machine` of the command line."]
        # So `help()` shows the options, whose texts are written once for both ways to call.
        wrapped.__doc__ = "\n".join(
            [inspect.getdoc(function) or "", "", "Options", "-------", *helps]
        )
        return with_renamed_keywords(retry_refused="retry_errors")(wrapped)

    return decorate
