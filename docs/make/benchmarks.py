"""One page a benchmark, from its card, its adapter's docstring and what the adapter says of itself."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hqm.benchmark.asking import ROLES
from hqm.benchmark.card import Card
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.registry import card, load, names, shipped
from hqm.scoring.metrics import Metric
from make.text import prose, table

_TASKS = {
    "yes_no": "yes/no questions",
    "choice": "multiple choice",
    "caption": "captions",
    "vqa": "open questions",
}
_PARALLEL = {
    "yes_no": "Every question is negated and its truth turned round (`hqm.forms.polar`).",
    "choice": "The options are put in another order (`hqm.forms.options`).",
    "caption": "The instruction is put in other words (`hqm.forms.wording`).",
    "vqa": "The question is put in other words (`hqm.forms.wording`, `hqm.forms.open`).",
}
_BETTER = {"higher": "higher", "lower": "lower", "neither": ""}


def index() -> str:
    """The list of all benchmarks."""
    cards = [card(name) for name in names()]
    rows = (
        (f"[{one.title}]({one.name}.md)", f"`{one.name}`", _TASKS[one.task], ", ".join(one.types), one.summary)
        for one in cards
    )
    head = "# Benchmarks\n\nEach page is made from the benchmark's card and from the docstring of its adapter.\n"
    return "\n".join([head, *table(("benchmark", "name", "task", "types", "what"), rows)])


def page(name: str) -> str:
    """The page of one benchmark."""
    one = card(name)
    made = _instance(one)
    parts = [*_head(one), *_about(one), *_scoring(one, made), *_data(one), *_asking(one), *_judges(one, made)]
    return "\n".join([*parts, *_parallel(one, made), *_citation(one)]) + "\n"


def _instance(one: Card) -> Benchmark:
    """The benchmark without data: enough to say its metrics, roles and modes."""
    module = _module(one)
    kinds = [
        value
        for value in vars(importlib.import_module(module)).values()
        if isinstance(value, type) and issubclass(value, Benchmark) and value.__module__ == module
    ] if module else []  # fmt: skip
    return (kinds[0] if kinds else Benchmark)(one, Path("no-data"), home=shipped() / one.name)


def _module(one: Card) -> str:
    name = f"hqm.adapters.{one.adapter or one.name}"
    return name if importlib.util.find_spec(name) else ""


def paragraphs(one: Card) -> tuple[str, str]:
    """What the adapter's docstring says: of the benchmark, and of what release and paper do differently."""
    module = _module(one)
    text = inspect.cleandoc(importlib.import_module(module).__doc__ or "") if module else ""
    found = re.search(r"^Official and paper[.:]\s*(.+?)(?=\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        return text, ""
    return (text[: found.start()] + text[found.end() :]).strip(), found[1].strip()


def _head(one: Card) -> Iterator[str]:
    yield f"# {one.title}\n\n{prose(one.summary)}\n"
    rows = [
        ("name in commands", f"`{one.name}`" + (f", and with others `{one.group}`" if one.group else "")),
        ("version", f"`{one.version}`"),
        ("task", f"{_TASKS[one.task]} (`{one.task}`)"),
        ("types claimed", ", ".join(one.types) or "none"),
        ("type labels", "in the release" if one.labelled else "none in the release"),
        ("licence", one.licence or "not stated"),
        ("from", one.url),
    ]
    yield from table(("card", ""), [row for row in rows if row[1]])


def _about(one: Card) -> Iterator[str]:
    about, _ = paragraphs(one)
    if about:
        yield f"## What it is\n\n{prose(about)}\n"


def _scoring(one: Card, made: Benchmark) -> Iterator[str]:
    yield "## Scoring\n"
    if one.task == "yes_no":
        yield f"Answers are read by the parser `{one.scoring.parser}` (`--parser` names another).\n"
    audited = {metric.name for metric in made.audited}
    whole = [metric for metric in made.metrics if not metric.subset or metric.name in audited]
    yield "Metrics; an audit looks at those in bold unless `--metric` names others.\n"
    yield from table(("metric", "better", "what"), (_metric_row(metric, metric.name in audited) for metric in whole))
    rest = [metric for metric in made.metrics if metric not in whole]
    if rest:
        yield f"The same within a subset: {_subsets(rest)}.\n"
    if made.recipes:
        choices = ", ".join(f"`{recipe}`" for recipe in made.recipes)
        yield f"Questions about words are answered by named parts; the choices are {choices} ([formats](../formats.md)).\n"
    _, differences = paragraphs(one)
    yield "### Official and paper\n"
    yield "`--scoring official` does what the released scorer does, `--scoring paper` what the paper defines.\n"
    yield (prose(differences) if differences else "They agree: there is one scoring.") + "\n"


def _metric_row(metric: Metric, audited: bool) -> tuple[str, str, str]:
    name = f"**`{metric.name}`**" if audited else f"`{metric.name}`"
    return name, _BETTER[metric.better], metric.about + (f" Per {metric.group}." if metric.group else "")


def _subsets(metrics: Sequence[Metric]) -> str:
    found: dict[str, list[str]] = {}
    for metric in metrics:
        found.setdefault(metric.name.rpartition(".")[0] or metric.subset, []).append(metric.name.rpartition(".")[2])
    by_names: dict[tuple[str, ...], list[str]] = {}
    for subset, own in found.items():
        by_names.setdefault(tuple(dict.fromkeys(own)), []).append(subset)
    return "; ".join(
        f"{', '.join(f'`{subset}.`' for subset in subsets)} before {', '.join(f'`{name}`' for name in own)}"
        for own, subsets in by_names.items()
    )


def _data(one: Card) -> Iterator[str]:
    yield "## Data\n"
    if not one.data.folder:
        form = load(one.name).original
        kinds = sorted({item.type for item in form.items if item.type})
        pictures = len({item.image for item in form.items if item.image})
        yield (
            f"It comes with HQM: {len(form):,} items about {pictures:,} pictures, of {len(kinds)} types"
            f" ({', '.join(kinds)}). Pictures are drawn when they are first needed.\n"
        )
        return
    yield (
        f"They do not come with HQM. They are read from the folder `{one.data.folder}` below the one that `HQM_DATA` or"
        f" `--data` names; `hqm fetch {one.name}` gets what can be got and checks it, `hqm check {one.name}` says what is"
        " in them.\n"
    )
    if one.source.files:
        rows = (
            (f"`{file.path}`", _size(file.size), "no" if file.optional else "yes", _where(file.url, file.how))
            for file in one.source.files
        )
        yield f"Files of the release, revision `{one.source.revision or one.version}`:\n"
        yield from table(("file", "size", "needed", "how to get it"), rows)
    if one.source.images:
        licence = f" Their licence: {one.source.images_licence}." if one.source.images_licence else ""
        where = f" <{one.source.images_url}>" if one.source.images_url else ""
        yield f"Pictures: {prose(one.source.images)}{where}{licence}\n"
        yield f"They are looked for in `{one.data.folder}/{one.data.images}` unless `--images` names another folder.\n"


def _size(size: int) -> str:
    if not size:
        return ""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _where(url: str, how: str) -> str:
    return " ".join(filter(None, ["`hqm fetch`" if url else "by hand.", how]))


def _asking(one: Card) -> Iterator[str]:
    yield "## Asking\n"
    asked = one.generation
    yield (
        f"At most {asked.max_tokens} tokens, temperature {asked.temperature:g}, top-p {asked.top_p:g}, unless"
        " `--max-tokens`, `--temperature` and `--top-p` say otherwise.\n"
    )
    for where, text in (("Before", one.prompt.prefix), ("After", one.prompt.suffix)):
        if text.strip():
            yield f"{where} every question: `{' '.join(text.split())}`\n"


def _judges(one: Card, made: Benchmark) -> Iterator[str]:
    if not made.roles and not made.modes:
        return
    yield "## Judging\n"
    yield "Answers are judged by a model: `--judge` names it, `--role` another one for one role, `--judgements` a file of recorded replies.\n"
    yield from table(("role", "what it does"), ((f"`{role}`", ROLES[role]) for role in made.roles))
    if made.modes:
        modes = ", ".join(f"`{mode}`" for mode in made.modes)
        asks_nobody = " `rule` asks no judge." if "rule" in made.modes else ""
        yield f"Procedures (`--mode`), the first unless named: {modes}.{asks_nobody}\n"
    judging = one.judging
    yield f"The judge gives at most {judging.max_tokens} tokens at temperature {judging.temperature:g}, top-p {judging.top_p:g}.\n"
    ours = sorted(path.stem for path in (shipped() / one.name / "prompts").glob("*.txt"))
    if ours:
        listed = ", ".join(f"`{name}`" for name in ours)
        yield f"Prompts of ours: {listed}. `--prompts official` reads those of the release from its files.\n"


def _parallel(one: Card, made: Benchmark) -> Iterator[str]:
    yield "## Parallel form\n"
    own = type(made).parallel
    text = inspect.getdoc(own) if own is not Benchmark.parallel else ""
    yield f"{text or _PARALLEL[one.task]} `hqm forms {one.name}` shows it rule by rule, with what was left out.\n"
    further = type(made).more_forms
    if further is not Benchmark.more_forms:
        yield f"Further forms: {inspect.getdoc(further)}\n"


def _citation(one: Card) -> Iterator[str]:
    yield "## Citation\n"
    yield prose(one.citation) if one.citation else "See the project's own."
