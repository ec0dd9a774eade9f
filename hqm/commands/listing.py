"""What `hqm list` prints: the benchmarks, respondents, parsers and indicators that HQM knows."""

from __future__ import annotations

import json

from hqm.commands.terminal import print_all, terminal_table
from hqm.errors import UsageError


def show_known(what: str) -> None:
    """`hqm list`."""
    kinds = {"benchmarks": _benchmarks, "respondents": _respondents, "parsers": _parsers, "indicators": _indicators}
    if what not in kinds:
        raise UsageError(f"there are no {what!r} to list", remedy=f"List {', '.join(kinds)}.")
    kinds[what]()


def _benchmarks() -> None:
    from hqm.benchmark.registry import card, groups, names

    table = terminal_table("", "name", "task", "version", "types", "licence", "what")
    for name in names():
        about = card(name)
        table.add_row(name, about.task, about.version, ", ".join(about.types), about.licence, about.summary)
    print_all(table)
    for group, members in groups().items():
        print(f"{group} = {' + '.join(members)}")


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
    """The families of local models: how each is asked, what of a picture its questions share, what it needs."""
    from hqm.respondents.families import FAMILIES

    shares = {"prefix": "the image prefix", "features": "the vision features", "nothing": "nothing"}
    table = terminal_table("Families of hf/ models", "family", "model_type", "questions share", "asked by")
    for family in FAMILIES:
        shared = family.refusal or ": ".join(filter(None, (shares[family.sharing], family.why)))
        if family.needs:
            shared += f" (needs {', '.join(family.needs)})"
        asked = "" if family.refusal else "chat template"
        if family.form:
            asked += f", else {json.dumps(family.form)}"
        table.add_row(family.name, ", ".join(family.types), shared, asked)
    print_all(table)
    print("A family that is not listed is tried by its chat template, and checked against plain generate.")


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
    families = ", ".join(f"{family.name} ({family.differs})" for family in INDICATOR_FAMILIES.values())
    print(f"Families: {families}, coverage")
