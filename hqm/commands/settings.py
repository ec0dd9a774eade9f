"""Settings: values that seldom change between runs, read from files and from `--set`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from hqm.commands.options import OPTIONS
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
        raise DataError("there is no such file", place=str(machine), remedy="Correct --machine.")
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
        assignments[name] = (*assignments[name], *read) if several else read
    return values | assignments


def read_settings(path: Path, *, of_a_folder: bool = False) -> Mapping[str, Any]:
    """Read a settings file: a line for each setting, by the names of `hqm list settings`."""
    try:
        lines = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(
            f"the settings cannot be read: {error}", place=str(path), remedy="Correct the file."
        ) from None
    known = {name for name, option in OPTIONS.items() if option.setting}
    values = {name: _checked(name, value, known, str(path)) for name, value in lines.items()}
    for name in values:
        setting = OPTIONS[name].setting
        if of_a_folder and setting is not None and setting.trusted:
            raise UsageError(
                f"the setting {name} is not taken from a folder, which may be somebody else's",
                place=str(path),
                remedy=f"Move the line to {user_file()}, or name the file with --machine.",
            )
    return values


def _checked(name: str, value: Any, known: Collection[str], place: str) -> Any:
    """Return a setting's value in its own type, from the text of `--set` or a TOML value."""
    from pydantic import TypeAdapter, ValidationError

    if name not in known:
        raise UsageError(
            f"there is no setting {name!r}",
            place=place,
            remedy=_not_a_setting(name, known),
            given=name,
            known=known,
        )
    option = OPTIONS[name]
    kind = option.keyword.annotation
    if kind == tuple[str, ...] and isinstance(value, str):
        value = value.split(",")
    try:
        read = TypeAdapter(kind).validate_python(value)
    except ValidationError:
        read = None
    least = option.setting.least if option.setting else None
    if read is None or (least is not None and not read >= least):
        raise UsageError(
            f"{str(value)!r:.60} is no value of the setting {name}",
            place=place,
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
