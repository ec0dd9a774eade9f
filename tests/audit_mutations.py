"""Audits with one value replaced, deleted or of another type: refused, or printed by every command."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

Path_ = tuple[str | int, ...]
OTHER_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 5, 0.5, -0.25, 1e30, -1e30, 10**18, "", "x", "1e999", "{x}", "0 0"),
    *([], {}, [1], [None], ["x"], [[]], [{}], {"a": 1}, {"a": None}, {"": {}}, [1, 2, 3]),
    *("\ud800", {"\ud800": 1}, 10**30, "\x00", "$x", "%s", "\\x", "=1+1"),
)


def paths_of(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The path of every value of a document."""
    if path:
        yield path
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        yield from paths_of(inner, (*path, key))


def paths_by_shape(document: Any) -> list[list[Path_]]:
    """Paths in groups that differ in indices and respondents alone, so that each is drawn alike."""
    groups: dict[tuple[str, ...], list[Path_]] = {}
    for path in paths_of(document):
        shape = tuple("#" if isinstance(key, int) else key for key in path)
        groups.setdefault(shape, []).append(path)
    return list(groups.values())


def mutated(document: Any, groups: list[list[Path_]], rng: random.Random) -> tuple[Any, str]:
    """A document with one change, and what was changed."""
    path = rng.choice(rng.choice(groups))
    changed = copy.deepcopy(document)
    container = changed
    for key in path[:-1]:
        container = container[key]
    before = container[path[-1]]
    kind = rng.choice(["replace", "replace", "delete", "retype", "scale", "twice", "insert"])
    if kind == "delete":
        del container[path[-1]]
    elif kind == "scale" and isinstance(before, (int, float)):
        container[path[-1]] = before * rng.choice([2, -1, 1e12, 0.5]) + rng.choice([0, 1e-3, 1])
    elif kind == "twice" and isinstance(before, list) and before:
        before.append(copy.deepcopy(before[0]))
    elif kind == "insert" and isinstance(before, dict):
        before[rng.choice(["", "new", "0", "{x}", "\ud800"])] = copy.deepcopy(
            rng.choice(OTHER_VALUES)
        )
    elif kind == "retype":
        container[path[-1]] = rng.choice([str(before), [before], {"value": before}])
    else:
        container[path[-1]] = copy.deepcopy(rng.choice(OTHER_VALUES))
    return changed, f"{kind} {path}: {json.dumps(before)[:60]} -> {json.dumps(container)[:0]}"
