"""Extensions: what other packages bring by entry points, and what to install where it is
missing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from types import MappingProxyType
from typing import Any

from hqm.errors import CardError, UsageError

EXTENSIONS = "hqm.extensions"
"""The group in which the metadata of HQM lists what extensions of its own repository bring."""
ASKING = "hqm.asking"
"""The group by which an extension asks in another order, or stops early: `run_until`, `print_run`,
and `stopped_in`, the stopped administration of a benchmark.
"""

GROUPS = (
    "hqm.adapters",
    ASKING,
    "hqm.benchmarks",
    "hqm.checklists",
    "hqm.checks",
    "hqm.command_groups",
    "hqm.commands",
    "hqm.engines",
    "hqm.exports",
    EXTENSIONS,
    "hqm.file_audits",
    "hqm.lists",
    "hqm.pages",
    "hqm.respondents",
)
"""The groups of entry points that HQM looks into."""


def points_in(group: str) -> EntryPoints:
    """Return what installed packages bring in a group of entry points."""
    return _all_points().get(group, EntryPoints())


def unread_groups() -> dict[str, str]:
    """Return the groups of HQM's name that nobody looks into, each with a package that brings it.

    What an extension of HQM's own repository brings is looked into by that extension.
    """
    own_packages = {point.value.replace("_", "-") for point in points_in(EXTENSIONS)}
    unread = {}
    for group, points in _all_points().items():
        packages = sorted({point.dist.name for point in points if point.dist})
        is_of_hqm = not own_packages.isdisjoint(packages)
        if group.startswith("hqm.") and group not in GROUPS and not is_of_hqm:
            unread[group] = packages[0] if packages else "a package"
    return unread


def _all_points() -> Mapping[str, EntryPoints]:
    return _installed_points(tuple((folder, _modification_time(folder)) for folder in sys.path))


@lru_cache(1)
def _installed_points(_folders: tuple[tuple[str, int], ...]) -> Mapping[str, EntryPoints]:
    """Return all groups, read again when a package was installed into one of the folders."""
    # a command asks several times, and each time a file of every installed package would be read
    points = entry_points()
    return MappingProxyType({group: points.select(group=group) for group in points.groups})


def _modification_time(folder: str) -> int:
    """Return the nanoseconds at which a folder was last changed; 0 where there is none."""
    try:
        return os.stat(folder or os.curdir).st_mtime_ns
    except OSError:
        return 0


def names_in(group: str) -> tuple[str, ...]:
    """Return the names that installed packages bring in a group of entry points, sorted."""
    # Two packages may bring one name, which `load_extension` refuses.
    return tuple(sorted({point.name for point in points_in(group)}))


def load_extension(group: str, name: str, kind: str) -> Any:
    """Load what an installed package brings by this name.

    Parameters
    ----------
    kind
        What it is, with its article: `a recipe`.

    Raises
    ------
    UsageError
        No package brings it.
    CardError
        Several packages bring it, or it cannot be loaded.
    """
    points = [point for point in points_in(group) if point.name == name]
    if not points:
        raise missing_extension(name) or UsageError(
            f"there is no {kind.partition(' ')[2]} {name!r}"
        )
    # Whichever came first would depend on the order of installation.
    if len(points) > 1:
        raise CardError(
            f"{len(points)} packages call {kind} {name!r}", remedy="Uninstall all but one."
        )
    try:
        return points[0].load()
    # Code of others may fail in any way while it is imported.
    except Exception as error:
        raise CardError(
            f"its entry point cannot be loaded: {type(error).__name__}: {error}",
            location=name,
            remedy="Ask the maker of the package.",
        ) from error


def missing_extension(feature: str) -> UsageError | None:
    """Return the error for a feature whose extension is not installed; None where none has it."""
    packages = {point.name: point.value.replace("_", "-") for point in points_in(EXTENSIONS)}
    package = packages.get(feature)
    if package is None:
        return None
    return UsageError(
        f"{feature!r} needs the extension {package}, which is not installed",
        remedy=f"Install it from a checkout of HQM: pip install ./extensions/{package}",
    )
