"""A source of annotations, and the readers of their layouts.

A reader is a `Reader` in a module of `hqm_build.readers`. The content of the file or folder
determines which one reads it, or a prefix does: `coco:annotations/`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from hqm.errors import CardError, DataError, UsageError, check_known
from hqm.extensions import load_extension, names_in
from hqm.files.records import read_json
from hqm.signature import digest_file
from hqm.types import Task
from hqm_build.caption_writers import Roles
from hqm_build.graph import Draft, Promise, SceneGraph
from hqm_build.measuring import Measured

_MODULES = ("shapes", "coco", "visual_genome", "gqa", "amber", "captions", "valor")
"""The modules of readers, in the order in which these are tried on a file or folder."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The annotations of a source, read into scene graphs."""

    name: str
    reader: str
    digest: str
    """The hash of the annotation files."""
    graphs: tuple[SceneGraph, ...]
    licence: str = ""
    citation: str = ""
    draw: Callable[[str, Path], None] | None = None
    """Draws the picture of this name into a file, where pictures are drawn and not found."""
    respondents: tuple[str, ...] = ()
    """Embedded respondents that can answer questions about these pictures."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How one layout of annotations is recognised and read."""

    name: str
    layout: str
    """The files it reads, in words."""
    knows: Callable[[Path], bool]
    read: Callable[[Path], Source]


def readers() -> dict[str, Reader]:
    """Every reader by its name."""
    modules = [importlib.import_module(f"hqm_build.readers.{name}") for name in _MODULES]
    return {
        reader.name: reader
        for module in modules
        for reader in vars(module).values()
        if isinstance(reader, Reader)
    }


def open_annotations(location: str) -> Source:
    """Read the annotations at a location.

    Parameters
    ----------
    location
        `shapes` (drawn scenes, embedded), a file or a folder; `READER:PATH` where the content does
        not determine the layout.

    Raises
    ------
    UsageError
        There is no such location or reader.
    DataError
        The annotations cannot be read, or say what cannot be.
    """
    all_readers = readers()
    if location == "shapes":
        return all_readers["shapes"].read(Path())
    prefix, colon, named_path = location.partition(":")
    if colon and prefix in all_readers:
        if not Path(named_path).exists():
            raise UsageError(
                "there is no such file or folder", location=named_path, remedy="Correct --from."
            )
        return _read(all_readers[prefix], Path(named_path))
    path = Path(location)
    if not path.exists():
        raise UsageError(
            f"there is no source {location!r:.200}",
            remedy=(
                f"Name a file or folder, or one of {', '.join(all_readers)} with what it reads:"
                " coco:annotations/."
            ),
            name=location,
            choices=["shapes"],
        )
    for reader in all_readers.values():
        with _readable_errors(path):
            fits = reader.knows(path)
        if fits:
            return _read(reader, path)
    layouts = "; ".join(f"{reader.name}: {reader.layout}" for reader in all_readers.values())
    raise DataError(
        "it is in none of the layouts of annotations",
        location=location,
        remedy=f"Known are {layouts}.",
    )


def _read(reader: Reader, path: Path) -> Source:
    with _readable_errors(path):
        source = reader.read(path)
    if not source.graphs:
        raise DataError(
            "it has no picture",
            location=str(path),
            remedy=f"It is read as {reader.name}: {reader.layout}.",
        )
    return source


@contextmanager
def _readable_errors(path: Path) -> Iterator[None]:
    """Raise any error in reading an annotation as one sentence that names the file."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        field_path = ".".join(map(str, first["loc"]))
        message = str(first["msg"]).removeprefix("Value error, ")
        if field_path:
            message = f"{field_path}: {message}, given {first['input']!r:.60}"
        else:
            message = message
        raise DataError(message, location=str(path), remedy="Correct the annotation.") from None
    except RecursionError:
        raise DataError("it is nested too deeply", location=str(path)) from None
    except OverflowError as error:
        raise DataError(
            f"it holds a number that is too large: {error}", location=str(path)
        ) from None


def digest_of(files: list[Path]) -> str:
    """One hash of several files, by their names and contents."""
    from hqm.signature import digest

    return digest([(path.name, digest_file(path)) for path in sorted(files)])


def table(value: Any, subject: str, path: Path) -> dict[str, Any]:
    """Return a JSON object, or raise an error that names the file."""
    if not isinstance(value, dict):
        raise DataError(
            f"{subject} is {value!r:.60}, which is no object",
            location=str(path),
            remedy="Correct the file.",
        )
    return value


def rows(value: Any, subject: str, path: Path) -> list[dict[str, Any]]:
    """Return a list of JSON objects, or raise an error that names the file."""
    if not isinstance(value, list):
        raise DataError(
            f"{subject} is {value!r:.60}, which is no list",
            location=str(path),
            remedy="Correct the file.",
        )
    return [table(row, f"row {i} of {subject}", path) for i, row in enumerate(value, 1)]


def words(value: Any, subject: str, path: Path) -> list[str]:
    """A list of texts without the empty ones; `subject` is the subject and its verb."""
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise DataError(
            f"{subject} {value!r:.60}", location=str(path), remedy="Write a list of words."
        )
    return [" ".join(word.split()) for word in value if word.strip()]


def first_value(path: Path, kind: type[dict[str, Any]] | type[list[Any]]) -> Any:
    """Return the first value of a JSON file with an object or a list, or None."""
    if not path.is_file() or path.suffix != ".json":
        return None
    content = read_json(path)
    if not isinstance(content, kind):
        return None
    return next(iter(content.values() if isinstance(content, dict) else content), None)


def text(record: Mapping[str, Any], name: str, subject: str, path: Path) -> str:
    """A field that is a text or a number, as a text."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        raise DataError(
            f"the field {name!r} of {subject} is {value!r:.60}",
            location=str(path),
            remedy="Write a text or a whole number.",
        )
    return " ".join(str(value).split())


def number(record: Mapping[str, Any], name: str, subject: str, path: Path) -> float:
    """A field that is a finite number."""
    value = record.get(name)
    # NaN fails the comparison too
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e9:
        raise DataError(
            f"the field {name!r} of {subject} is {value!r:.60}",
            location=str(path),
            remedy="Write a number of pixels.",
        )
    return float(value)


# --- recipes: what a build makes of a source, and what it must not have ---


GROUP = "hqm.recipes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a recipe builds from: annotations, how many items are wanted, and random numbers."""

    source: Source
    items: int
    rng: np.random.Generator
    roles: Roles | None = None
    """The models that write and check captions, where some were named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a benchmark is built."""

    name: str
    title: str
    summary: str
    """One sentence for the card: what is measured."""
    task: Task
    must_not: str
    """What the result must not have, in words."""
    needs: str
    """What the annotations must say, in words."""
    draft: Callable[[Order], Draft]
    promises: Callable[[Measured], tuple[Promise, ...]]
    lack: str = "annotations that fit"
    """For want of what fewer items are made than wanted, in words."""
    adapter: str = ""
    """The adapter that scores it; the card's task decides where it is empty."""
    card: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Further sections of the card."""
    unread: float = 0.05
    """The share of answers that the tiny embedded models may leave unread in an administration."""
    writes: bool = False
    """Whether it writes captions, so that a model can write and another one can check them."""


def recipe_names() -> tuple[str, ...]:
    """The names of all recipes: of this package and of others."""
    return names_in(GROUP)


def recipe_named(name: str) -> Recipe:
    """The recipe of this name.

    Raises
    ------
    UsageError
        There is none.
    CardError
        Several packages bring one, or what an entry point names is no recipe.
    """
    check_known(name, recipe_names(), f"there is no recipe {name!r:.60}", "Known are {}.")
    recipe = load_extension(GROUP, name, "a recipe")
    if not isinstance(recipe, Recipe):
        raise CardError(
            f"its entry point is {type(recipe).__name__}, which is no recipe",
            location=name,
            remedy="Name a Recipe: mine = my_package.my_recipe:RECIPE.",
        )
    return recipe
