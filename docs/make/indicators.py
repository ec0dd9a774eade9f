"""A page for each statistic, from the indicator's own value and the docstrings of the functions that compute it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hqm.indicators import INDICATOR_FAMILIES, Indicator, all_indicators, statistics
from make.text import described, prose, table

EXAMPLES = Path(__file__).resolve().parent.parent / "theory" / "5_worked_examples.md"


def path(name: str) -> str:
    """Where a statistic's page lies; the statistic `index` is not the folder's first page."""
    return f"indicators/{'types_index' if name == 'index' else name}.md"


def index() -> str:
    """The list of all statistics and families."""
    head = (
        "# Indicators\n\nThe name of an estimate is a family and a statistic: `test_retest.pearson` is Pearson's"
        " correlation of the scores of two runs, `parallel_forms.pearson` that of two wordings. The family says which"
        " administrations are looked at, the statistic how.\n"
    )
    families = ((f"`{family.name}`", family.differs) for family in INDICATOR_FAMILIES.values())
    rows = ((f"[`{name}`]({Path(path(name)).name})", each.meaning) for name, each in statistics().items())
    return "\n".join(
        [head, "## Families\n", *table(("family", "what differs, or what is looked at"), families), "## Statistics\n",
         *table(("statistic", "what it is"), rows)]
    )  # fmt: skip


def page(indicator: Indicator) -> str:
    """The page of one statistic."""
    return "\n".join(_page(indicator)) + "\n"


def _page(indicator: Indicator) -> Iterator[str]:
    yield f"# {indicator.name}\n\n{prose(indicator.meaning)}\n"
    if how := inspect.getdoc(indicator.compute):
        yield f"{prose(' '.join(how.split()))}\n"
    yield (
        f"Statistic `{indicator.name}` of the [indicators](index.md): an audit estimates it wherever it exists, and says"
        " why where it does not.\n"
    )
    entries = [each for each in all_indicators() if each.name == indicator.name]
    names = ", ".join(dict.fromkeys(f"`{family.name}.{each.name}`" for each in entries for family in each.family))
    needs = "; ".join(dict.fromkeys(need.what for need in indicator.needs))
    yield f"- Estimates: {names}"
    yield f"- Needs: {needs or 'nothing but the answers'}"
    neither = "Neither a high nor a low value is better by itself."
    yield f"- {neither if indicator.better == 'neither' else f'{indicator.better.capitalize()} is better.'}\n"
    for function in indicator.explains:
        signature = _signature(function)
        yield f"## `hqm.psychometrics.{function.__name__}`\n\n```text\n{signature}\n```\n"
        yield from described(inspect.getdoc(function) or "")
        yield from _worked(function.__name__)


def _worked(name: str) -> Iterator[str]:
    """The function's section of the page with worked examples and sources; nothing where it has none."""
    for section in EXAMPLES.read_text("utf-8").split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        if heading == name:
            yield f"**Worked example and sources**\n\n{body.strip()}\n"


def _signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    arguments, named = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            named = True
            arguments.append("*")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        arguments.append(f"{parameter.name}: {parameter.annotation}{default}")
    lines = "".join(f"    {argument},\n" for argument in arguments)
    return f"{function.__name__}(\n{lines}) -> {signature.return_annotation}"
