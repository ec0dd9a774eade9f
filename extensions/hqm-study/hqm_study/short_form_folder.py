"""Short forms of a benchmark: the tables that items are chosen from, and the folder that holds a
form with its weights and losses.
"""

from __future__ import annotations

import inspect
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hqm.auditing.gate import default_text
from hqm.benchmark.adapter import Benchmark, Calibration, FormLoss
from hqm.benchmark.registry import load
from hqm.errors import DesignError, ImageError
from hqm.files.cache import is_url, safe_name
from hqm.files.records import write_records
from hqm.files.toml_files import toml_text
from hqm.files.whole import atomic_folder, name_for, write_texts
from hqm.psychometrics import Array, IntArray
from hqm.scoring.matrix import ScoreMatrix, Sums
from hqm.scoring.metrics import Metric
from hqm.signature import digest
from hqm.types import Item, finite
from hqm.version import __version__
from hqm_study.item_choice import METHODS, ShortForm
from hqm_study.shortening import Measure, Shortening, shorten_answers

FORM_NAMES = ("a", "b")
"""What the short forms are called."""


@dataclass(frozen=True, slots=True)
class Source:
    """Which audit items are chosen by: its content hash, and the signature of one of its
    estimates.
    """

    audit: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shortened:
    """Short forms of a benchmark.

    Parameters
    ----------
    benchmark
        The full benchmark's name and version.
    shortening
        How the items were chosen, and what is lost on held-out families.
    forms
        The items of each form; the k-th items of two forms belong together.
    calibrations
        Each form's weights and losses, as its folder holds them.
    metrics
        The metrics that were calibrated, the leading one first.
    folder
        Where the forms were written; None where they were not. The second form lies in `b` below
        it.
    missing_pictures
        How many pictures could not be copied because they are not there.
    """

    benchmark: str
    shortening: Shortening
    forms: tuple[tuple[Item, ...], ...]
    calibrations: tuple[Calibration, ...]
    metrics: tuple[str, ...]
    folder: Path | None = None
    missing_pictures: int = 0

    @property
    def loss(self) -> FormLoss:
        """What the first form loses of the leading metric."""
        return self.calibrations[0].loss[self.metrics[0]]


def shorten_matrix(
    benchmark: Benchmark,
    matrix: ScoreMatrix,
    families: Sequence[str],
    metrics: Sequence[Metric],
    items: str | float = "10%",
    *,
    forms: int = 1,
    seed: int = 0,
    source: Source | None = None,
    methods: Sequence[str] = tuple(METHODS),
) -> Shortened:
    """Choose short forms of a benchmark from the scored answers of one administration.

    Raises
    ------
    DesignError
        No metric is a function of sums over single items, or `shorten_answers` refuses.
    """
    usable = [metric for metric in metrics if not metric.group]
    if not usable:
        reason = (
            f"{', '.join(metric.name for metric in metrics)} counts groups of items as right or"
            " wrong, and a short form cuts groups"
        )
        additive_metrics = [metric.name for metric in benchmark.metrics if not metric.group]
        raise DesignError(
            reason,
            remedy=f"Audit it by another metric: --metric {additive_metrics[0]}."
            if additive_metrics
            else "",
        )
    shortening = shorten_answers(
        matrix.values,
        items,
        families=families,
        types=[item.type or "" for item in matrix.items],
        pictures=[item.cluster or item.id for item in matrix.items],
        strata=[_stratum(item) for item in matrix.items],
        respondents=matrix.respondents,
        measures=[metric_measure(matrix, metric) for metric in usable],
        forms=forms,
        seed=seed,
        methods=methods,
    )
    order = np.argsort(shortening.forms[0].items).astype(np.int64)

    def items_of(form: ShortForm) -> tuple[Item, ...]:
        return tuple(matrix.items[int(i)] for i in form.items[order])

    form_items = tuple(map(items_of, shortening.forms))
    calibrations = tuple(
        _calibration(benchmark, matrix, shortening, k, order, source or Source())
        for k in range(forms)
    )
    names = tuple(metric.name for metric in usable)
    return Shortened(
        benchmark=benchmark.label,
        shortening=shortening,
        forms=form_items,
        calibrations=calibrations,
        metrics=names,
    )


def _stratum(item: Item) -> str:
    """What a form keeps the share of within a type: the part, and the right answer of a yes/no
    question.
    """
    if item.task == "yes_no":
        return f"{item.part}|{item.target}"
    return item.part


def metric_measure(matrix: ScoreMatrix, metric: Metric) -> Measure:
    """A metric as a statistic of tallies; answers to items that it does not look at count for
    nothing.
    """
    scored = matrix.mask(metric)

    def statistic(sums: Mapping[str, Array]) -> Any:
        return metric(Sums(sums, *np.shape(next(iter(sums.values()), 0.0))))

    return Measure(
        metric.name, statistic, {key: values * scored for key, values in matrix.tallies.items()}
    )


def _calibration(
    benchmark: Benchmark,
    matrix: ScoreMatrix,
    shortening: Shortening,
    k: int,
    order: IntArray,
    source: Source,
) -> Calibration:
    form = shortening.forms[k]
    held_out_scores = shortening.held_out_scores
    return Calibration(
        of=benchmark.name,
        version=benchmark.card.version,
        of_items=shortening.full_items,
        form=FORM_NAMES[k],
        audit=source.audit,
        answers=matrix.answers,
        signature=source.signature,
        method=shortening.method,
        words=METHODS[shortening.method].words,
        errors=dict(shortening.errors),
        respondents=shortening.respondents,
        families=shortening.families,
        seed=shortening.seed,
        ids=tuple(matrix.items[int(i)].id for i in form.items[order]),
        weights=form.weights[order],
        auxiliary=form.auxiliary[order],
        loss={name: _form_loss(losses[k]) for name, losses in held_out_scores.loss.items()},
        parallel=(
            {
                name: {
                    "reliability": finite(agreement.reliability),
                    "mean_shift": finite(agreement.mean_shift),
                    "respondents": agreement.respondents,
                }
                for name, agreement in held_out_scores.parallel.items()
            }
        ),
    )


def _form_loss(loss: Any) -> FormLoss:
    values = {name: getattr(loss, name) for name in FormLoss.__slots__}
    if any(not math.isfinite(value) for name, value in values.items() if name != "tau"):
        raise DesignError(
            "the error on held-out families cannot be measured: too few of their answers to the"
            " items are scored",
            remedy="Audit respondents whose answers can be scored, or ask for more items.",
        )
    return FormLoss(**{**values, "tau": finite(loss.tau)})


ITEMS, CALIBRATION, PROVENANCE = "items.jsonl", "calibration.json", "provenance.jsonl"


def write_short_forms(benchmark: Benchmark, short_forms: Shortened, folder: Path) -> Shortened:
    """Write short forms into a new folder, the second one also as a folder of its own below it;
    whole or not at all.

    Raises
    ------
    UsageError
        The folder holds something, or its name cannot be a benchmark's.
    DesignError
        The items cannot be written as a folder has them.
    """
    name = name_for(folder)
    benchmark.prepare_images(benchmark.original)
    with atomic_folder(folder) as staging:
        missing = _write_form(benchmark, short_forms, 0, staging, name, folder)
        if len(short_forms.forms) > 1:
            _copy_pictures(benchmark, short_forms.forms[1], staging)
            (staging / "forms").mkdir()
            pairs = zip(*short_forms.forms, strict=True)
            rows = [
                {"id": first.id, "prompt": second.prompt, "item": second.to_dict()}
                for first, second in pairs
            ]
            write_records(staging / "forms" / f"{FORM_NAMES[1]}.jsonl", rows)
            (staging / FORM_NAMES[1]).mkdir()
            missing += _write_form(
                benchmark,
                short_forms,
                1,
                staging / FORM_NAMES[1],
                f"{name}_{FORM_NAMES[1]}",
                folder / FORM_NAMES[1],
            )
    return replace(short_forms, folder=folder, missing_pictures=missing)


def _write_form(
    benchmark: Benchmark, short_forms: Shortened, k: int, target: Path, name: str, folder: Path
) -> int:
    """One form's folder; how many pictures are not there to be copied."""
    calibration, items = short_forms.calibrations[k], short_forms.forms[k]
    missing = _copy_pictures(benchmark, items, target)
    write_records(target / ITEMS, [_item_row(item) for item in items])
    partners: Sequence[Item | None] = (
        short_forms.forms[1 - k] if len(short_forms.forms) > 1 else [None] * len(items)
    )
    write_records(
        target / PROVENANCE,
        [_provenance(calibration, i, partner) for i, partner in enumerate(partners)],
    )
    text = json.dumps(calibration.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
    # the prompts of judges, and an adapter that lies beside the benchmark's own card
    if benchmark.roles and benchmark.prompts == "hqm":
        prompt_names = benchmark.prompt_names
    else:
        prompt_names = ()
    write_texts(
        target,
        {
            CALIBRATION: f"{text}\n",
            "card.toml": _card_text(benchmark, calibration, items, name),
            "policy.toml": default_text(),
            ".gitignore": "out/\n",
            "README.md": _readme_text(benchmark, short_forms, k, folder),
            **{f"prompts/{prompt}.txt": benchmark.prompt(prompt) for prompt in prompt_names},
        },
    )
    if _adapter_module(benchmark) is None:
        shutil.copyfile(inspect.getfile(type(benchmark)), target / "adapter.py")
    _check_items(benchmark, items, target)
    return missing


def _item_row(item: Item) -> dict[str, Any]:
    """An item as the items file of any folder has it; fields of the scorer's own stand beside the
    others.
    """
    row: dict[str, Any] = {
        "id": item.id,
        "image": item.image or "",
        "prompt": item.prompt,
        "type": item.type or "",
        "part": item.part,
        "cluster": item.cluster,
        "options": list(item.options),
    }
    # beside fields of the scorer's own, an absent field could be taken for a misspelt one
    row = {key: value for key, value in row.items() if value or item.meta}
    return {**row, "target": item.target, **item.meta}


def _provenance(calibration: Calibration, index: int, partner: Item | None) -> dict[str, Any]:
    return {
        "id": calibration.ids[index],
        "of": f"{calibration.of}@{calibration.version}",
        "form": calibration.form,
        "weight": float(calibration.weights[index]),
        "method": calibration.method,
        "seed": calibration.seed,
        "audit": calibration.audit,
        **({"belongs_to": partner.id} if partner is not None else {}),
    }


def _copy_pictures(benchmark: Benchmark, items: Sequence[Item], folder: Path) -> int:
    """Copy the pictures that are at hand; how many are not."""
    if is_url(_picture_url(benchmark)):
        return 0
    missing = 0
    for image in dict.fromkeys(
        item.image for item in items if item.image and not is_url(item.image)
    ):
        picture_path = folder / "images" / safe_name(image)
        picture_path.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(benchmark.pictures.path(image), picture_path)
        except (ImageError, OSError):
            missing += 1
    return missing


def _picture_url(benchmark: Benchmark) -> str:
    if is_url(benchmark.card.data.images):
        return benchmark.card.data.images
    return ""


def _adapter_module(benchmark: Benchmark) -> str | None:
    """The module of `hqm.adapters` that scores a benchmark, empty where none does; None for code
    beside its card.
    """
    package, _, module = type(benchmark).__module__.rpartition(".")
    if type(benchmark) is Benchmark:
        return ""
    if package == "hqm.adapters":
        return module
    return None


def _card_text(
    benchmark: Benchmark, calibration: Calibration, items: Sequence[Item], name: str
) -> str:
    card = benchmark.card
    loss = next(iter(calibration.loss.values()))
    item_types = {item.type for item in items}
    types = [kind for kind in card.types if kind in item_types]
    card_fields: dict[str, Any] = {
        "name": name,
        "title": f"{card.title}, short form{_form_letter(calibration)}",
        "version": (
            f"{card.version}-{digest([item.to_dict() for item in items]).partition(':')[2][:12]}"
        ),
        "task": card.task,
        "summary": (
            f"{len(items):,} of the {calibration.of_items:,} items of {card.title}: on its scale"
            f" with a mean error of {loss.mean_error:.3f} for families of models that they were not"
            " chosen by."
        ),
        "types": types,
        "labelled": card.labelled and bool(types),
        "citation": card.citation,
        "url": card.url,
        "licence": card.licence,
        **({"adapter": adapter} if (adapter := _adapter_module(benchmark)) else {}),
    }
    sections: dict[str, Mapping[str, Any]] = {
        "data": {"items": ITEMS, "images": _picture_url(benchmark) or "images"},
        "shortened": {
            "of": f"{calibration.of}@{calibration.version}",
            "items": calibration.of_items,
            "audit": calibration.audit,
            "calibration": CALIBRATION,
        },
    }
    card_sections = card.model_dump(mode="json", exclude_defaults=True)
    sections |= {
        key: card_sections[key]
        for key in ("prompt", "scoring", "generation", "judging", "respondents")
        if key in card_sections
    }
    return toml_text({**card_fields, **sections})


def _check_items(benchmark: Benchmark, items: Sequence[Item], folder: Path) -> None:
    """Refuse items that a folder cannot hold as the benchmark has them."""
    read_items = load(folder).original.items
    for item, read_item in zip(items, read_items, strict=True):
        differing = [
            name
            for name in (
                "id",
                "prompt",
                "task",
                "target",
                "image",
                "type",
                "part",
                "options",
                "meta",
            )
            if getattr(item, name) != getattr(read_item, name)
        ]
        if differing:
            raise DesignError(
                f"the {differing[0]} of the item {item.id!r} cannot be written as a folder's items"
                " have it",
                location=benchmark.name,
                remedy="Shorten a benchmark whose items are plain fields.",
            )


def _form_letter(calibration: Calibration) -> str:
    """The letter of a form after its name; empty where there is one form only."""
    if calibration.parallel:
        return f" {calibration.form.upper()}"
    return ""


def _format_number(value: float | None, digits: int) -> str:
    if value is None:
        return "not determined"
    return f"{value:.{digits}f}"


def _readme_text(benchmark: Benchmark, short_forms: Shortened, k: int, folder: Path) -> str:
    calibration = short_forms.calibrations[k]
    card = benchmark.card
    loss = "\n".join(
        f"- {name}: mean error {form_loss.mean_error:.3f}, Kendall's tau"
        f" {_format_number(form_loss.tau, 2)}, {form_loss.coverage:.0%} of the 95% intervals"
        f" contain the full score (half width {form_loss.half_width:.3f})"
        for name, form_loss in calibration.loss.items()
    )
    second = ""
    if len(short_forms.forms) > 1 and not k:
        reliability = next(iter(calibration.parallel.values()))["reliability"]
        reliability_text = _format_number(reliability, 3)
        second = (
            "\nForm B, without a common item and matched in type and difficulty, lies in `b/` as a"
            " benchmark of its own, and in `forms/b.jsonl` as a form of this one. Their"
            f" reliability on held-out families is {reliability_text}. To measure it on others:"
            "\n\n```sh\nhqm audit . --form b=forms/b.jsonl --forms original,b --out out\n```\n"
        )
    letter = _form_letter(calibration)
    return f"""# {card.title}, short form{letter}

{len(short_forms.forms[k]):,} of the {calibration.of_items:,} items of {card.title}
({calibration.of}@{calibration.version}), made by `hqm shorten NAME AUDIT --out FOLDER` of hqm-audit
{__version__}.

The items were {calibration.words};
{len(calibration.respondents)} respondents of {len(set(calibration.families))} families chose them.
What is lost, measured on families that did not choose:

{loss}

`calibration.json` has the weights that put scores on the full benchmark's scale; the report of
`hqm audit NAME` shows them with their intervals. `provenance.jsonl` says for each item where it
comes from. Audit {calibration.audit or "not named"}.

```sh
hqm check .
hqm audit . --out out
```
{second}
Citation: {card.citation or "not written"}. Licence: {card.licence or "not written"}.
"""
