"""One page per benchmark, made from its card, the docstring of its adapter and the attributes of
the adapter.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hqm.benchmark import registry
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.card import Card, SourceFile
from hqm.imports.row import ROLES
from hqm.scoring.metrics import Metric
from make.text import prose, table

_TASKS = {
    "yes_no": "yes/no questions",
    "choice": "multiple choice",
    "caption": "captions",
    "vqa": "open questions",
}
_PARALLEL = {
    "yes_no": "Every question is negated, which reverses its right answer (`hqm.forms.negate`).",
    "choice": "The options are put in another order (`hqm.forms.wording`).",
    "caption": "The instruction is put in other words (`hqm.forms.wording`).",
    "vqa": "The question is put in other words (`hqm.forms.wording`, `hqm.forms.rephrase`).",
}
_BETTER = {"higher": "higher", "lower": "lower", "neither": ""}


def index() -> str:
    """The list of all benchmarks."""
    cards = [registry.card(name) for name in registry.names()]
    rows = (
        (
            f"[{card.title}]({card.name}.md)",
            f"`{card.name}`",
            _TASKS[card.task],
            ", ".join(card.types),
            card.summary,
        )
        for card in cards
    )
    head = (
        "# Benchmarks\n\nEach page is made from the benchmark's card and from the docstring of its"
        " adapter.\n"
    )
    head += "\n```python\n>>> import hqm\n>>> hqm.load(\"shapes_yesno\").card.task\n'yes_no'\n```\n"
    return "\n".join([head, *table(("benchmark", "name", "task", "types", "what"), rows)])


def page(name: str) -> str:
    """The page of one benchmark."""
    card = registry.card(name)
    made = _instance(card)
    parts = [
        *_head(card),
        *_about(card),
        *_scoring(card, made),
        *_data(card),
        *_asking(card),
        *_judges(card, made),
    ]
    return "\n".join([*parts, *_parallel(card, made), *_citation(card)]) + "\n"


def _instance(card: Card) -> Benchmark:
    """The benchmark without its data, which is enough to read its metrics, roles and modes."""
    module = _module(card)
    kinds = (
        [
            value
            for value in vars(importlib.import_module(module)).values()
            if isinstance(value, type)
            and issubclass(value, Benchmark)
            and value.__module__ == module
        ]
        if module
        else []
    )
    return (kinds[0] if kinds else Benchmark)(
        card, Path("no-data"), home=registry.shipped() / card.name
    )


def _module(card: Card) -> str:
    name = f"hqm.adapters.{card.adapter or card.name}"
    return name if importlib.util.find_spec(name) else ""


def paragraphs(card: Card) -> tuple[str, str]:
    """The adapter's docstring in two parts: the benchmark itself, and the differences between its
    release and its paper.
    """
    module = _module(card)
    text = inspect.cleandoc(importlib.import_module(module).__doc__ or "") if module else ""
    differences = re.search(
        r"^Official and paper[.:]\s*(.+?)(?=\n\n|\Z)", text, re.DOTALL | re.MULTILINE
    )
    if differences is None:
        return text, ""
    return (text[: differences.start()] + text[differences.end() :]).strip(), differences[1].strip()


def _head(card: Card) -> Iterator[str]:
    yield f"# {card.title}\n\n{prose(card.summary)}\n"
    rows = [
        (
            "name in commands",
            f"`{card.name}`" + (f", and with others `{card.group}`" if card.group else ""),
        ),
        ("version", f"`{card.version}`"),
        ("task", f"{_TASKS[card.task]} (`{card.task}`)"),
        ("types claimed", ", ".join(card.types) or "none"),
        ("type labels", "in the release" if card.labelled else "none in the release"),
        ("licence", card.licence or "not stated"),
        ("source", card.url),
    ]
    yield from table(("card", ""), [row for row in rows if row[1]])
    yield (
        "```python\n>>> from hqm.benchmark.registry import card\n>>>"
        f' card("{card.name}").version\n{card.version!r}\n```\n'
    )


def _about(card: Card) -> Iterator[str]:
    about, _ = paragraphs(card)
    if about:
        yield f"## What it is\n\n{prose(about)}\n"


def _scoring(card: Card, made: Benchmark) -> Iterator[str]:
    yield "## Scoring\n"
    if card.task == "yes_no":
        yield (
            f"The parser `{card.scoring.parser}` reads the answers (`--parser` names another"
            " one).\n"
        )
    audited = {metric.name for metric in made.audited}
    whole = [metric for metric in made.metrics if not metric.subset or metric.name in audited]
    yield "An audit uses the metrics in bold unless `--metric` names others.\n"
    yield from table(
        ("metric", "better", "what"),
        (_metric_row(metric, metric.name in audited) for metric in whole),
    )
    rest = [metric for metric in made.metrics if metric not in whole]
    if rest:
        yield f"The same metrics within subsets: {_subsets(rest)}.\n"
    if made.recipes:
        choices = ", ".join(f"`{recipe}`" for recipe in made.recipes)
        yield (
            f"Named components decide questions about words; the choices are {choices}"
            " ([formats](../formats.md)).\n"
        )
    _, differences = paragraphs(card)
    yield "### Official and paper\n"
    yield (
        "`--scoring official` scores as the released scorer does, `--scoring paper` as the paper"
        " defines.\n"
    )
    yield (
        prose(differences) if differences else "They agree, so there is only one scoring."
    ) + "\n"


def _metric_row(metric: Metric, audited: bool) -> tuple[str, str, str]:
    name = f"**`{metric.name}`**" if audited else f"`{metric.name}`"
    return (
        name,
        _BETTER[metric.better],
        metric.about + (f" Per {metric.group}." if metric.group else ""),
    )


def _subsets(metrics: Sequence[Metric]) -> str:
    metrics_by_subset: dict[str, list[str]] = {}
    for metric in metrics:
        metrics_by_subset.setdefault(metric.name.rpartition(".")[0] or metric.subset, []).append(
            metric.name.rpartition(".")[2]
        )
    by_names: dict[tuple[str, ...], list[str]] = {}
    for subset, own in metrics_by_subset.items():
        by_names.setdefault(tuple(dict.fromkeys(own)), []).append(subset)
    return "; ".join(
        f"{', '.join(f'`{subset}.`' for subset in subsets)} before"
        f" {', '.join(f'`{name}`' for name in own)}"
        for own, subsets in by_names.items()
    )


def _data(card: Card) -> Iterator[str]:
    yield "## Data\n"
    if not card.data.folder:
        form = registry.load(card.name).original
        kinds = sorted({item.type for item in form.items if item.type})
        pictures = len({item.image for item in form.items if item.image})
        yield (
            f"It comes with HQM: {len(form):,} items about {pictures:,} pictures, of {len(kinds)}"
            f" types ({', '.join(kinds)}). The pictures are drawn when they are first needed.\n"
        )
        return
    yield (
        f"The data do not come with HQM. They are read from the folder `{card.data.folder}` in the"
        f" folder that `HQM_DATA` or `--data` names. `hqm fetch {card.name}` downloads what can be"
        f" downloaded and checks it; `hqm check {card.name}` says what is in the data.\n"
    )
    if card.source.files:
        rows = (
            (f"`{file.path}`", _size(file.size), "no" if file.optional else "yes", _where(file))
            for file in card.source.files
        )
        yield f"The files of the release, revision `{card.source.revision or card.version}`:\n"
        yield from table(("file", "size", "needed", "how to get it"), rows)
    if card.source.images:
        licence = (
            f" Their licence: {card.source.images_licence}." if card.source.images_licence else ""
        )
        where = f" <{card.source.images_url}>" if card.source.images_url else ""
        yield f"Pictures: {prose(card.source.images)}{where}{licence}\n"
        yield (
            f"HQM looks for them in `{card.data.folder}/{card.data.images}` unless `--images` names"
            " another folder.\n"
        )


def _size(size: int) -> str:
    if not size:
        return ""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _where(file: SourceFile) -> str:
    if file.made_from:
        return (
            f"`hqm fetch` makes it from {', '.join(f'`{name}`' for name in file.made_from)}."
            f" {file.how}"
        )
    return " ".join(filter(None, ["`hqm fetch`." if file.url else "by hand.", file.how]))


def _asking(card: Card) -> Iterator[str]:
    yield "## Asking\n"
    asked = card.generation
    yield (
        f"At most {asked.max_tokens} tokens, temperature {asked.temperature:g}, top-p"
        f" {asked.top_p:g}, unless `--max-tokens`, `--temperature` and `--set top_p=...` say otherwise.\n"
    )
    for where, text in (("Before", card.prompt.prefix), ("After", card.prompt.suffix)):
        if text.strip():
            yield f"{where} every question: `{' '.join(text.split())}`\n"


def _judges(card: Card, made: Benchmark) -> Iterator[str]:
    if not made.roles and not made.modes:
        return
    yield "## Judging\n"
    yield (
        "A model judges the answers. `--judge` names it, `--set roles=...` names another one for a single"
        " role, and `--judgements` names a file of recorded replies.\n"
    )
    yield from table(("role", "what it does"), ((f"`{role}`", ROLES[role]) for role in made.roles))
    if made.modes:
        modes = ", ".join(f"`{mode}`" for mode in made.modes)
        asks_nobody = " `rule` asks no judge." if "rule" in made.modes else ""
        yield f"Procedures (`--set mode=...`; the first is the default): {modes}.{asks_nobody}\n"
    judging = card.judging
    yield (
        f"The judge gives at most {judging.max_tokens} tokens at temperature"
        f" {judging.temperature:g}, top-p {judging.top_p:g}.\n"
    )
    ours = sorted(path.stem for path in (registry.shipped() / card.name / "prompts").glob("*.txt"))
    if ours:
        listed = ", ".join(f"`{name}`" for name in ours)
        yield (
            f"Prompts written for HQM: {listed}. `--set prompts=official` reads the prompts of the"
            " release from its files.\n"
        )


def _parallel(card: Card, made: Benchmark) -> Iterator[str]:
    yield "## Parallel form\n"
    own = type(made).parallel
    text = inspect.getdoc(own) if own is not Benchmark.parallel else ""
    yield (
        f"{text or _PARALLEL[card.task]} `hqm forms {card.name}` shows it rule by rule and lists"
        " the items that were left out.\n"
    )
    further = type(made).more_forms
    if further is not Benchmark.more_forms:
        yield f"Further forms: {inspect.getdoc(further)}\n"


def _citation(card: Card) -> Iterator[str]:
    yield "## Citation\n"
    yield prose(card.citation) if card.citation else "See the citation that the project gives."
