"""What `hqm list` prints: the benchmarks, respondents, parsers, indicators and recipes that HQM
knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from hqm.commands.terminal import print_all, terminal_table
from hqm.errors import UsageError


def show_known(what: str) -> None:
    """`hqm list`."""
    if what not in KNOWN:
        raise UsageError(
            f"there are no {what!r} to list",
            remedy=f"List {', '.join(KNOWN)}.",
            given=what,
            known=KNOWN,
        )
    KNOWN[what]()


def _benchmarks() -> None:
    from hqm.benchmark.registry import card, groups, names

    table = terminal_table("", "name", "task", "version", "types", "licence", "what")
    for name in names():
        about = card(name)
        table.add_row(
            name, about.task, about.version, ", ".join(about.types), about.licence, about.summary
        )
    print_all(table)
    for group, members in groups().items():
        print_all(f"{group} = {' + '.join(members)}")


def _respondents() -> None:
    from hqm.benchmark.registry import card, names
    from hqm.respondents.kinds import all_kinds

    by_name: dict[str, list[str]] = {}
    for name in names():
        for respondent in card(name).respondents.embedded:
            by_name.setdefault(respondent, []).append(name)
    table = terminal_table("Embedded", "name", "answers")
    for respondent, benchmarks in by_name.items():
        table.add_row(respondent, ", ".join(benchmarks))
    print_all(table)
    _families()
    table = terminal_table("Kinds", "name", "what", "price", "runs in this process")
    for kind in all_kinds():
        table.add_row(kind.form, kind.meaning, kind.price, "yes" if kind.local else "no")
    print_all(table)


def _families() -> None:
    """The families of local models: how each is asked, what of a picture its questions share, what
    it needs.
    """
    from hqm.respondents.families import FAMILIES

    shares = {"prefix": "the image prefix", "features": "the vision features", "nothing": "nothing"}
    table = terminal_table(
        "Families of hf/ models", "family", "model_type", "questions share", "asked by"
    )
    for family in FAMILIES:
        shared = family.refusal or ": ".join(filter(None, (shares[family.sharing], family.why)))
        if family.needs:
            shared += f" (needs {', '.join(family.needs)})"
        asked = "" if family.refusal else "chat template"
        if family.form:
            asked += f", else {json.dumps(family.form)}"
        table.add_row(family.name, ", ".join(family.types), shared, asked)
    print_all(table)
    print_all(
        "A family that is not listed is tried by its chat template, and checked against plain"
        " generate."
    )


def _parsers() -> None:
    from hqm.scoring.parsers import PARSERS

    table = terminal_table("", "name", "reads negated questions", "source")
    for parser in PARSERS.values():
        table.add_row(parser.name, "yes" if parser.reads_negation else "no", parser.source)
    print_all(table)


def _indicators() -> None:
    from hqm.indicators import INDICATOR_FAMILIES, statistics

    table = terminal_table("", "statistic", "what")
    for indicator in statistics().values():
        table.add_row(indicator.name, indicator.meaning)
    print_all(table)
    families = ", ".join(
        f"{family.name} ({family.differs})" for family in INDICATOR_FAMILIES.values()
    )
    print_all(f"Families: {families}, coverage")


def _recipes() -> None:
    from hqm.builders.recipe import recipe_named, recipe_names

    table = terminal_table("", "name", "task", "what", "must not have", "needs")
    for name in recipe_names():
        recipe = recipe_named(name)
        table.add_row(name, recipe.task, recipe.summary, recipe.must_not, recipe.needs)
    print_all(table)


KNOWN: Mapping[str, Callable[[], None]] = {
    "benchmarks": _benchmarks,
    "respondents": _respondents,
    "parsers": _parsers,
    "indicators": _indicators,
    "recipes": _recipes,
}
"""What can be listed."""
