"""Run the linter over one benchmark, from its card to its pictures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hqm.benchmark.codes import CODES, Selection, code_of
from hqm.benchmark.cutting import cut
from hqm.benchmark.findings import NO_COPIES, Finding, check_form, group_by_type
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.keys import read_key
from hqm.benchmark.registry import folder_of_card, groups, load, make
from hqm.errors import HQMError, UsageError
from hqm.forms.build import read_form as read_brought
from hqm.lint.files import Faults, read_card, read_form
from hqm.lint.images import Pictures, check_images
from hqm.lint.labels import check_leaks, check_places, check_types
from hqm.lint.leaks import WORDS, can_leak, leaks_in
from hqm.lint.wordings import WORDING_FINDINGS, check_wordings
from hqm.lint.words import check_words
from hqm.psychometrics import Stratum
from hqm.types import ORIGINAL, PARALLEL, Form

EVERYTHING = Selection()


@dataclass(frozen=True)
class Checked:
    """The findings about one benchmark, and its items."""

    benchmark: str
    version: str
    findings: tuple[Finding, ...]
    form: Form | None = None
    """The items that could be read; None if none could."""
    task: str = ""
    claimed: tuple[str, ...] = ()
    part: str = ""
    """The part that was checked; all of them if empty."""

    @property
    def readable(self) -> bool:
        """Whether items could be read, so that more than the shape of the files was checked."""
        return self.form is not None

    def wanted(self, selection: Selection) -> list[Finding]:
        """The findings that a selection leaves, in the order of the registry."""
        left = [finding for finding in self.findings if selection.has(finding.name)]
        order = list(CODES)
        return sorted(left, key=lambda finding: order.index(code_of(finding.name).code))

    @property
    def leaks(self) -> tuple[Stratum, ...]:
        """How far the words, and the strongest cue, get without the pictures: in all items, in each
        part and in each type.

        Empty where there is nothing to predict, or where there are too few items to try.
        """
        if self.form is None or not can_leak(self.form.items):
            return ()
        study, best = leaks_in(self.form), dict[tuple[str, str, bool], Stratum]()
        for stratum in (*study.words.strata, *study.cues.strata):
            key = (stratum.type, stratum.part, stratum.cue == WORDS)
            tried = (
                stratum.status == "ok"
                and math.isfinite(stratum.gain)
                and not (stratum.type and stratum.part)
            )
            if tried and (key not in best or stratum.gain > best[key].gain):
                best[key] = stratum
        return tuple(sorted(best.values(), key=lambda s: (bool(s.type), bool(s.part))))

    def to_dict(self, selection: Selection) -> dict[str, Any]:
        """Counts and findings as JSON data."""
        items = self.form.items if self.form else ()
        types = (
            {
                kind or "(unlabelled)": len(of_type)
                for kind, of_type in group_by_type(self.form).items()
            }
            if self.form
            else {}
        )
        targets = (
            Counter(str(item.target) for item in items)
            if self.task in ("yes_no", "choice")
            else Counter[str]()
        )
        return {
            "benchmark": self.benchmark,
            "version": self.version,
            "part": self.part or None,
            "readable": self.readable,
            "items": len(items),
            "images": len({item.image for item in items if item.image}),
            "parts": dict(Counter(item.part for item in items if item.part)),
            "types": types,
            "targets": dict(sorted(targets.items())),
            "claimed": list(self.claimed),
            "digest": self.form.digest if self.form else None,
            "leaks": [_plain(stratum) for stratum in self.leaks],
            "findings": [finding.to_dict() for finding in self.wanted(selection)],
        }


def _plain(stratum: Stratum) -> dict[str, Any]:
    values = {**asdict(stratum), "name": stratum.name}
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def lint_benchmarks(
    name: str,
    *,
    data: Path | None = None,
    images: Path | str | None = None,
    part: str | None = None,
    limit: int | None = None,
    key: Path | None = None,
    forms: Mapping[str, Path] = MappingProxyType({}),
    selection: Selection = EVERYTHING,
    **reading: Any,
) -> list[Checked]:
    """Check the benchmarks that a name stands for; faults become findings, and the check goes on
    where it can.

    Parameters
    ----------
    name, data, images, reading
        As `load` takes them, so that whatever can be audited can be checked.
    part, limit
        Only one part, only the first items.
    key
        A corrected key; what it makes of the benchmark is checked as well, under both names.
    forms
        Name -> file: forms of one's own, whose wordings are checked as those of the parallel form
        and of the adapter's other forms are.
    selection
        The findings that are wanted: where none is about wordings, forms that nobody brought are
        not written.

    Raises
    ------
    UsageError
        The name or an option means nothing.
    DataError
        The corrected key does not belong to the benchmark.

    Examples
    --------
    >>> (checked,) = lint_benchmarks("shapes_choice")
    >>> checked.readable, "few-wordings" in {finding.name for finding in checked.findings}
    (True, True)
    """
    name = folder_of_card(name)
    members = groups().get(name, (name,))
    if key is not None and len(members) > 1:
        raise UsageError(
            "a corrected key belongs to one benchmark",
            remedy="Name that benchmark alone with --key.",
        )
    settings = {"data": data, "images": images, **reading}
    worded = any(selection.has(finding) for finding in WORDING_FINDINGS) or bool(forms)
    linted = []
    for member in members:
        faults = Faults()
        try:
            benchmark, form = _read(member, faults, {**settings, "fitting": len(members) > 1})
        except UsageError:
            raise
        except HQMError as error:
            faults.add("items-unreadable", f"it cannot be read: {error}")
            linted.append(Checked(Path(member).name, "", tuple(faults.all())))
            continue
        if benchmark is None:
            linted.append(Checked(Path(member).resolve().name, "", tuple(faults.all())))
            continue
        linted.append(
            _checked(
                benchmark,
                cut(form, benchmark.name, part, limit) if form.items else form,
                faults,
                forms,
                worded,
            )
        )
        if key is not None and form.items:
            corrected = read_key(key, benchmark).applied(form)
            by_key = _checked(
                benchmark, cut(corrected, benchmark.name, part, limit), Faults(), {}, worded
            )
            linted.append(replace(by_key, benchmark=f"{benchmark.name} by {key.stem}"))
    return [replace(checked, part=part or "") for checked in linted]


def _read(name: str, faults: Faults, settings: dict[str, Any]) -> tuple[Benchmark | None, Form]:
    """A benchmark and its items; of one without code of its own, the items that have no fault."""
    path = Path(name) / "card.toml"
    if path.is_file() and not (path.parent / "adapter.py").is_file():
        card = read_card(path, faults)
        if card is None:
            return None, Form(ORIGINAL, ())
        if not card.adapter:
            without = {key: value for key, value in settings.items() if key != "fitting"}
            benchmark = make(card, path.parent, **without)
            return benchmark, read_form(card, benchmark.data, faults)
    benchmark = load(name, **settings)
    return benchmark, benchmark.original


def _checked(
    benchmark: Benchmark, form: Form, faults: Faults, files: Mapping[str, Path], worded: bool
) -> Checked:
    wordings, pictures = (
        _forms(benchmark, form, files) if worded else [],
        pictures_of(benchmark, form),
    )
    card, findings = (
        benchmark.card,
        [*faults.all(), *findings_of(benchmark, form, pictures, forms=wordings)],
    )
    readable = form if form.items else None
    return Checked(benchmark.name, card.version, tuple(findings), readable, card.task, card.types)


def _forms(benchmark: Benchmark, form: Form, files: Mapping[str, Path]) -> list[Form]:
    """The forms whose wordings are checked; one from a file replaces its namesake."""
    if not form.items:
        return []
    own = [*benchmark.more_forms(form), *([] if PARALLEL in files else [benchmark.parallel(form)])]
    brought = [read_brought(path, form, name) for name, path in files.items()]
    return [*(made for made in own if made.name not in files), *brought]


def pictures_of(benchmark: Benchmark, form: Form) -> Pictures:
    """What the files hold of the pictures that a form asks about."""
    return Pictures.read(benchmark, [item.image for item in form.items if item.image])


def findings_of(
    benchmark: Benchmark,
    form: Form,
    pictures: Pictures | None = None,
    *,
    forms: Iterable[Form] = (),
) -> Iterator[Finding]:
    """Every finding about a benchmark that could be read: the one list that `hqm check`, an audit
    and its gate have.

    `forms` are wordings to compare with the original `form`. Without `pictures` nothing is said of
    their files, and a picture is known by its name alone.
    """
    yield from _card(benchmark)
    if not form.items:
        return
    copies = pictures.copies if pictures is not None else NO_COPIES
    yield from check_form(form, copies)
    yield from check_words(form, copies)
    yield from check_types(form, benchmark.card.types, benchmark.card.labelled)
    for wording in forms:
        yield from check_wordings(form, wording)
    yield from benchmark.check(form)
    yield from check_places(form)
    yield from check_leaks(form)
    if pictures is not None:
        # a folder apart is fetched, and an embedded benchmark draws its pictures when they are
        # asked about
        brought = (
            bool(benchmark.card.data.folder)
            or type(benchmark).prepare_images is not Benchmark.prepare_images
        )
        yield from check_images(pictures, brought)


def _card(benchmark: Benchmark) -> Iterable[Finding]:
    card = benchmark.card
    if not card.licence:
        yield Finding("no-licence", "the card names no licence: nobody may use the data")
    if not card.citation:
        yield Finding("no-citation", "the card names nothing to cite")
    if not card.summary:
        yield Finding("no-summary", "the card has no sentence that says what is measured")
