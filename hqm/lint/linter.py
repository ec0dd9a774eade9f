"""Run the linter over one benchmark, from its card to its pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqm.benchmark.codes import CODES, Selection, code_of
from hqm.benchmark.findings import Finding, check_form, group_by_type
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.registry import groups, load, make
from hqm.errors import HQMError, UsageError
from hqm.lint.files import Faults, read_card, read_form
from hqm.lint.images import check_images
from hqm.lint.labels import check_leaks, check_types
from hqm.lint.words import check_words
from hqm.types import Form


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

    @property
    def readable(self) -> bool:
        """Whether items could be read, so that more than the shape of the files was checked."""
        return self.form is not None

    def wanted(self, selection: Selection) -> list[Finding]:
        """The findings that a selection leaves, in the order of the registry."""
        left = [finding for finding in self.findings if selection.has(finding.name)]
        order = list(CODES)
        return sorted(left, key=lambda finding: order.index(code_of(finding.name).code))

    def to_dict(self, selection: Selection) -> dict[str, Any]:
        """Counts and findings as JSON data."""
        items = self.form.items if self.form else ()
        types = (
            {kind or "(unlabelled)": len(of_type) for kind, of_type in group_by_type(self.form).items()}
            if self.form
            else {}
        )
        targets = Counter(str(item.target) for item in items) if self.task in ("yes_no", "choice") else Counter[str]()
        return {
            "benchmark": self.benchmark,
            "version": self.version,
            "readable": self.readable,
            "items": len(items),
            "images": len({item.image for item in items if item.image}),
            "parts": dict(Counter(item.part for item in items if item.part)),
            "types": types,
            "targets": dict(sorted(targets.items())),
            "claimed": list(self.claimed),
            "digest": self.form.digest if self.form else None,
            "findings": [finding.to_dict() for finding in self.wanted(selection)],
        }


def lint_benchmarks(name: str, *, data: Path | None = None, images: Path | str | None = None) -> list[Checked]:
    """Check the benchmarks that a name stands for; faults become findings, and the check goes on where it can.

    Raises
    ------
    UsageError
        The name stands for nothing.

    Examples
    --------
    >>> (checked,) = lint_benchmarks("shapes_choice")
    >>> checked.readable, "few-wordings" in {finding.name for finding in checked.findings}
    (True, True)
    """
    return [_lint(member, data, images) for member in groups().get(name, (name,))]


def _lint(name: str, data: Path | None, images: Path | str | None) -> Checked:
    faults = Faults()
    path = Path(name) / "card.toml"
    try:
        if path.is_file() and not (path.parent / "adapter.py").is_file():
            card = read_card(path, faults)
            if card is None:
                return Checked(path.resolve().parent.name, "", tuple(faults.all()))
            benchmark = make(card, path.parent, data=data, images=images)
            form = read_form(card, benchmark.data, faults)
        else:
            benchmark = load(name, data=data, images=images)
            form = benchmark.original
    except UsageError:
        raise
    except HQMError as error:
        faults.add("items-unreadable", f"it cannot be read: {error}")
        return Checked(Path(name).name, "", tuple(faults.all()))
    card, findings = benchmark.card, [*faults.all(), *findings_of(benchmark, form)]
    return Checked(benchmark.name, card.version, tuple(findings), form if form.items else None, card.task, card.types)


def findings_of(benchmark: Benchmark, form: Form, *, pictures: bool = True) -> Iterator[Finding]:
    """Every finding about a benchmark that could be read: the one list that `hqm check`, an audit and its gate have.

    Without `pictures` their files are not opened.
    """
    yield from _card(benchmark)
    if not form.items:
        return
    yield from check_form(form)
    yield from check_words(form)
    yield from check_types(form, benchmark.card.types, benchmark.card.labelled)
    yield from benchmark.check(form)
    yield from check_leaks(form)
    if pictures:
        # a folder apart is fetched, and an embedded benchmark draws its pictures when they are asked about
        brought = bool(benchmark.card.data.folder) or type(benchmark).prepare_images is not Benchmark.prepare_images
        yield from check_images(benchmark.images, [item.image for item in form.items if item.image], brought)


def _card(benchmark: Benchmark) -> Iterable[Finding]:
    card = benchmark.card
    if not card.licence:
        yield Finding("no-licence", "the card names no licence: nobody may use the data")
    if not card.citation:
        yield Finding("no-citation", "the card names nothing to cite")
    if not card.summary:
        yield Finding("no-summary", "the card has no sentence that says what is measured")
