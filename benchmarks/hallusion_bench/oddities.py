"""The oddities of HallusionBench's released file, counted from it."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable

from hqm import Finding, Form, Item, finding


def text_only(item: Item) -> bool:
    """Whether the question is asked without a figure, as with figure 0 of a visual supplement
    set.
    """
    return item.part == "VS" and item.meta["figure"] == "0"


def find_oddities(form: Form) -> Iterable[Finding]:
    """The findings beyond those that every benchmark is checked for."""
    items = form.items
    yield Finding(
        "types-are-ours",
        "the release has no hallucination types: its eight subcategories are mapped to six of the"
        " eight types",
        len(items),
    )
    yield from finding(
        "wh-question",
        "{n} questions ask with 'which' and are labelled yes or no",
        items=[
            i
            for i in items
            if re.search(r"(?:^|, )which (?:country|state|month)\b", i.prompt, re.IGNORECASE)
        ],
    )
    yield from finding(
        "whether",
        "{n} questions open with 'Whether' and have no auxiliary to negate",
        items=[i for i in items if "Whether " in i.prompt],
    )
    yield from finding(
        "spelling", "{n} questions say 'Accroding'", [i for i in items if "ccroding" in i.prompt]
    )
    yield from finding(
        "bare-reference",
        "{n} reference answers are no more than yes or no",
        items=[
            i
            for i in items
            if re.fullmatch(r"\s*(?:yes|no)\.?\s*", i.meta["details"], re.IGNORECASE)
        ],
    )
    yield from finding(
        "no-reference",
        "{n} reference answers are 'No answer'",
        items=[i for i in items if i.meta["details"].strip().lower() == "no answer"],
    )
    yield from finding(
        "text-only", "{n} questions have no picture", [i for i in items if i.image is None]
    )
    yield from finding(
        "instruction",
        "{n} questions carry an instruction how to answer behind them",
        items=[i for i in items if "?" in i.prompt and i.prompt.rpartition("?")[2].strip()],
    )
    yield from _pairs(form)
    yield from finding(
        "twin",
        "{n} questions have a twin about the same figure that differs in a word or two and has the"
        " other answer",
        _twins(form),
    )


def _pairs(form: Form) -> Iterable[Finding]:
    pairs: dict[str, list[Item]] = defaultdict(list)
    for item in form.items:
        pairs[item.meta["pair"]].append(item)
    yield from finding(
        "pair-wording",
        sentence=f"{{n}} of {len(pairs)} question pairs are worded differently across figures",
        items=[pair for pair, members in pairs.items() if len({i.prompt for i in members}) > 1],
    )
    yield from finding(
        "single-pair",
        "{n} question pairs have one figure only",
        items=[pair for pair, members in pairs.items() if len(members) == 1],
    )
    figures = {(i.cluster, i.meta["figure"]) for i in form.items if not text_only(i)}
    keys = {(cluster.partition("_")[2], figure) for cluster, figure in figures}
    yield Finding(
        "category-collision",
        f"{len(figures)} figures; keyed by the subcategory without VD or VS they are {len(keys)},"
        " as ocr stands in both",
        len(figures) - len(keys),
    )


def _twins(form: Form) -> list[Item]:
    figures: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in form.items:
        figures[item.cluster, item.meta["figure"]].append(item)

    def alike(a: Item, b: Item) -> bool:
        return difflib.SequenceMatcher(None, a.prompt, b.prompt).ratio() > 0.85

    return [
        i
        for same in figures.values()
        for i in same
        if any(j.target != i.target and alike(i, j) for j in same)
    ]
