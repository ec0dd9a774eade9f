"""Recipes: modules with a `RECIPE`, which makes questions from annotations and promises
properties.

Recipes of HQM are modules of `hqm.builders.recipes`; another package brings one by an entry point
of the group `hqm.recipes`, whose value is the recipe: `mine = "my_package.my_recipe:RECIPE"`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points

import numpy as np

from hqm.builders.built_question import Draft, Promise
from hqm.builders.caption_writers import Roles
from hqm.builders.measuring import Measured
from hqm.builders.source import Source
from hqm.errors import CardError, UsageError
from hqm.types import Task

GROUP = "hqm.recipes"
SHIPPED = ("pope", "amber", "hqh", "valor", "halcaption", "openchair")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a build is asked for."""

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
    adapter: str = ""
    """The adapter that scores it; the card's task decides where it is empty."""
    card: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Further sections of the card."""
    unread: float = 0.05
    """The share of answers that the tiny embedded models may leave unread in an administration."""
    writes: bool = False
    """Whether it writes captions, so that a model can write and another one can check them."""


def recipe_names() -> tuple[str, ...]:
    """The names of all recipes, those of HQM first."""
    others = sorted({point.name for point in entry_points(group=GROUP)} - set(SHIPPED))
    return (*SHIPPED, *others)


def recipe_named(name: str) -> Recipe:
    """The recipe of this name.

    Raises
    ------
    UsageError
        There is none.
    CardError
        Several packages bring one, or what an entry point names is no recipe.
    """
    if name in SHIPPED:
        made: Recipe = importlib.import_module(f"hqm.builders.recipes.{name}").RECIPE
        return made
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if not points:
        known = recipe_names()
        raise UsageError(
            f"there is no recipe {name!r:.60}",
            remedy=f"Known are {', '.join(known)}.",
            given=name,
            known=known,
        )
    if len(points) > 1:
        raise CardError(
            f"{len(points)} packages call a recipe {name!r}", remedy="Uninstall all but one."
        )
    try:
        brought = points[0].load()
    except Exception as error:
        raise CardError(
            f"its entry point cannot be loaded: {type(error).__name__}: {error}",
            place=name,
            remedy="Ask the maker of the package.",
        ) from error
    if not isinstance(brought, Recipe):
        raise CardError(
            f"its entry point is {type(brought).__name__}, which is no recipe",
            place=name,
            remedy="Name a Recipe: mine = my_package.my_recipe:RECIPE.",
        )
    return brought
