"""The named components, and the choice among them by `--set words=...`.

kind           name            what it is
nouns          hanta           HanTa's tagger and lemminflect's lemmas, whose data come with them
nouns          nltk            NLTK's tagger and WordNet lemmatiser, which AMBER's release uses
nouns          en_core_web_sm  spaCy's small English model, which OpenCHAIR's release uses
likeness       synonyms        the same word, or two words of one row of our synonyms
likeness       en_core_web_lg  cosine of spaCy's vectors above 0.8, as AMBER's release computes it
likeness       en_core_web_md  the same with the medium model, which lmms-eval tries first
concreteness   rule            our rule: concrete unless its ending or a list says otherwise
concreteness   brysbaert       rating above 4.5 in the table of Brysbaert et al. (2014)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, ModuleType

from hqm.errors import UsageError
from hqm.scoring.words.interfaces import Concreteness, Likeness, NounFinder, Recipe, Words


def _offline() -> ModuleType:
    """Import the module of our own components, which few benchmarks need."""
    from hqm.scoring.words import offline

    return offline


def _official() -> ModuleType:
    """Import the module of the components that releases use."""
    from hqm.scoring.words import official

    return official


NOUNS: Mapping[str, Callable[[], NounFinder]] = MappingProxyType(
    {
        "hanta": lambda: _offline().HantaNouns(),
        "nltk": lambda: _official().NltkNouns(),
        "en_core_web_sm": lambda: _official().SpacyNouns("en_core_web_sm"),
    }
)
"""Finders of nouns by name."""

LIKENESS: Mapping[str, Callable[[], Likeness]] = MappingProxyType(
    {
        "synonyms": lambda: _offline().Synonyms(),
        "en_core_web_lg": lambda: _official().spacy_vectors("en_core_web_lg"),
        "en_core_web_md": lambda: _official().spacy_vectors("en_core_web_md"),
    }
)
"""Measures of likeness by name."""

CONCRETENESS: Mapping[str, Callable[[Path | None], Concreteness]] = MappingProxyType(
    {
        "rule": lambda _: _offline().ConcreteByRule(),
        "brysbaert": lambda tables: _official().Brysbaert(tables),
    }
)
"""Judgements of concreteness by name; each is given the folder below the data root where tables
lie.
"""

_COMPONENTS: Mapping[str, Mapping[str, object]] = {
    "nouns": NOUNS,
    "likeness": LIKENESS,
    "concreteness": CONCRETENESS,
}


def compose(choice: str | None, recipes: Mapping[str, Recipe], benchmark: str) -> Recipe:
    """The recipe that a choice names: a whole recipe, single components that replace those of the
    default one, or both.

    Parameters
    ----------
    choice
        `official`, `likeness=en_core_web_md`, `official,likeness=synonyms`; None for the first
        recipe.
    recipes
        The recipes of the benchmark by name, the default first.
    benchmark
        Its name, for the error.

    Raises
    ------
    UsageError
        A name is unknown, or the benchmark asks no such question.

    Examples
    --------
    >>> recipes = {"offline": Recipe("hanta", "synonyms"),
    ...     "official": Recipe("nltk", "en_core_web_lg")}
    >>> compose("official,nouns=hanta", recipes, "amber_g").label
    'nouns=hanta,likeness=en_core_web_lg'
    """
    if not recipes:
        if choice is not None:
            raise UsageError(
                f"{benchmark} asks nothing about words", remedy="Leave the setting words out."
            )
        return Recipe()
    recipe = next(iter(recipes.values()))
    for i, piece in enumerate(choice.split(",") if choice else ()):
        kind, equals, name = piece.strip().partition("=")
        if equals:
            recipe = _replace_component(recipe, kind, name, benchmark)
        elif kind in recipes and i == 0:
            recipe = recipes[kind]
        else:
            raise UsageError(
                f"{benchmark} has no words {piece.strip()!r}",
                remedy=f"It is {' or '.join(recipes)}, or part=name joined by commas.",
                name=kind,
                choices=recipes,
            )
    return recipe


def _replace_component(recipe: Recipe, kind: str, name: str, benchmark: str) -> Recipe:
    """The recipe with another component of a kind that it has."""
    kinds = [field.name for field in fields(recipe) if getattr(recipe, field.name)]
    if kind not in kinds:
        raise UsageError(
            f"{benchmark} has no {kind!r} component for words",
            remedy=f"It has {', '.join(kinds)}.",
            name=kind,
            choices=kinds,
        )
    if name not in _COMPONENTS[kind]:
        raise UsageError(
            f"there is no {kind} {name!r}",
            remedy=f"There is {', '.join(_COMPONENTS[kind])}.",
            name=name,
            choices=_COMPONENTS[kind],
        )
    return replace(recipe, **{kind: name})


@lru_cache(maxsize=16)
def find_words(recipe: Recipe, tables: Path | None = None) -> Words:
    """Load the components of a recipe; those that are already loaded are used again.

    Parameters
    ----------
    recipe
        The components by name.
    tables
        The folder with published tables.

    Raises
    ------
    DataError
        A component is not installed, or its table is missing; the sentence says how to get it.
    """
    return Words(
        recipe,
        NOUNS[recipe.nouns]() if recipe.nouns else None,
        LIKENESS[recipe.likeness]() if recipe.likeness else None,
        CONCRETENESS[recipe.concreteness](tables) if recipe.concreteness else None,
    )
