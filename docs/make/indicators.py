"""A page for each statistic: what it says, for which decision, when it misleads, how to write it;
the function comes last.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hqm.reports.tables.table import bracket_text, number

from hqm.indicators import INDICATOR_FAMILIES, Indicator, all_indicators, statistics
from make import pictures, values
from make.questions import grouped, question_of
from make.reading import READING
from make.text import described, prose, table

EXAMPLES = Path(__file__).resolve().parent.parent / "theory" / "5_worked_examples.md"


def path(name: str) -> str:
    """Where a statistic's page lies; the statistic `index` is not the folder's first page."""
    return f"indicators/{'types_index' if name == 'index' else name}.md"


def index() -> str:
    """The list of all statistics and families."""
    head = (
        "# Indicators\n\nThe name of an estimate is a family and a statistic: `test_retest.pearson`"
        " is Pearson's correlation of the scores of two runs, `parallel_forms.pearson` that of two"
        " wordings. The family says which administrations are looked at, the statistic how.\n"
    )
    families = ((f"`{family.name}`", family.differs) for family in INDICATOR_FAMILIES.values())
    every = statistics()
    head += (
        "\n```python\n>>> import hqm\n>>>"
        " hqm.indicator_named(\"test_retest.pearson\").better\n'higher'\n```\n"
    )
    parts = [
        head,
        (
            "Which of them belongs into a paper: [which coefficient should I"
            " report?](../which_coefficient.md)\n"
        ),
    ]
    for title, names in grouped().items():
        rows = ((f"[`{name}`]({Path(path(name)).name})", every[name].meaning) for name in names)
        parts += [f"## {title}\n", *table(("statistic", "what it is"), rows)]
    return "\n".join(
        [
            *parts,
            "## Families\n",
            *table(("family", "what differs, or what is looked at"), families),
        ]
    )


def page(indicator: Indicator) -> str:
    """The page of one statistic."""
    return "\n".join(_page(indicator)) + "\n"


def _page(indicator: Indicator) -> Iterator[str]:
    how = " ".join((inspect.getdoc(indicator.compute) or "").split())
    neither = "Neither a high nor a low value is better by itself."
    better = (
        neither if indicator.better == "neither" else f"{indicator.better.capitalize()} is better."
    )
    yield (
        f"# {indicator.name}\n\n{prose(' '.join(filter(None, (indicator.meaning, how, better))))}\n"
    )
    yield from _value(indicator.name)
    if question := question_of(indicator.name):
        yield f"**For which decision.** {question.title} It helps to decide {question.decision}.\n"
    if indicator.name in READING:
        misleads, paper = READING[indicator.name]
        yield f"**When it misleads.** {prose(misleads)}\n\n**In a paper.** “{prose(paper)}”\n"
    entries = [each for each in all_indicators() if each.name == indicator.name]
    names = ", ".join(
        dict.fromkeys(f"`{family.name}.{each.name}`" for each in entries for family in each.family)
    )
    needs = "; ".join(dict.fromkeys(need.description for need in indicator.needs))
    yield f"- Estimates: {names}"
    yield (
        f"- Needs: {needs or 'nothing but the answers'}. Where that is missing, an audit says so"
        " instead of a number."
    )
    yield (
        "- [All indicators](index.md), [which one to report](../which_coefficient.md),"
        " [terms](../glossary.md)\n"
    )
    for function in indicator.explains:
        yield from _worked(function.__name__)
    for function in indicator.explains:
        yield f"## `hqm.psychometrics.{function.__name__}`\n"
        yield from described(inspect.getdoc(function) or "")
        yield f"```text\n{_signature(function)}\n```\n"


@cache
def stored() -> Mapping[str, Mapping[str, Any]]:
    """Statistic -> its value in an audit of the embedded benchmark, as docs/make/values.py wrote
    it.
    """
    return dict(json.loads(values.FILE.read_text("utf-8")))


def _value(name: str) -> Iterator[str]:
    """A value from the embedded benchmark with its picture, or why an audit of it has none."""
    value = stored().get(name) or {
        "reason": "docs/make/values.py has not been run since it was added"
    }
    audit = f"an audit of the embedded benchmark (`{values.COMMAND}`)"
    if "value" not in value:
        yield (
            f"**A value.** None in {audit}: {prose(value['reason'])}. A worked example stands"
            " below.\n"
        )
        return
    shown = number(value["value"], value["digits"])
    unit = f" ({value['unit']})" if value["unit"] else ""
    against = f", compared with {value['compared_with']}" if value["compared_with"] else ""
    spans = [
        f"{bracket_text(low, high, value['digits'])} {_FOR[kind]}"
        for kind, (low, high) in value["intervals"].items()
    ]
    made = (
        f"{value['respondents']:,} models, {value['items']:,} items; signature"
        f" `{value['signature']}`"
    )
    ends = f"with 95% confidence {', '.join(spans)}; " if spans else ""
    oracle = (
        " The other side is a rule that knows the drawn scene, and no people."
        if value["estimate"].startswith("oracle.")
        else ""
    )
    status = (
        f" Its status is `{value['status']}`: {prose(value['reason'])}."
        if value["status"] != "ok" and not oracle
        else ""
    )
    yield (
        f"**A value.** In {audit}, `{value['estimate']}` of {value['metric']} in"
        f" *{value['title']}*{against} is **{shown}**{unit}: {ends}{made}.{oracle}{status}\n"
    )
    yield pictures.drawn(
        value["picture"],
        f"{value['title']}, {value['family'].lower()}:"
        f" {value['estimate'].partition('.')[2].replace('_', ' ')} {shown}",
    )
    yield "Value and picture are made by `docs/make/values.py`.\n"


_FOR = {
    "fixed_models": "for these models",
    "model_population": "for others like them",
    "items": "over items",
}


def _worked(name: str) -> Iterator[str]:
    """The function's section of the page with worked examples and sources; nothing where it has
    none.
    """
    for section in EXAMPLES.read_text("utf-8").split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        if name in heading.split(", "):
            yield f"**Worked example and sources of `{name}`**\n\n{body.strip()}\n"


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
