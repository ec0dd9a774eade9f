"""The one interface: a benchmark is a card, its forms, and how an answer is scored.

A subclass (an adapter) overrides what its card cannot say; nothing has to be overridden.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from hqm.card import Card
from hqm.check import Finding
from hqm.errors import DataError, UsageError
from hqm.forms.build import build_parallel, is_negated
from hqm.forms.options import render_options
from hqm.images import Checksums, ImageSource, open_images
from hqm.items import is_url, read_items
from hqm.metrics import ACCURACY, YES_NO, Metric
from hqm.parsers import Parser, parser
from hqm.recorded import Recording, read_answers
from hqm.rules import score_choice, score_short, score_yes_no, settle
from hqm.types import Form, Item, Response, Verdict

Scoring = Literal["official", "paper"]


class Benchmark:
    """A benchmark: what is asked, and what an answer is worth.

    Parameters
    ----------
    card
        Its card.
    data
        The folder with its data.
    images
        Its pictures: a folder, a zip, parquet files or a web address; the card's unless given.
    scoring
        `official` (what the released scorer computes) or `paper` (what the paper defines); the same for a benchmark
        whose release and paper agree.
    reader
        The named reader of yes/no answers; the card's unless given.
    """

    scorings: ClassVar[tuple[Scoring, ...]] = ("official", "paper")

    def __init__(
        self,
        card: Card,
        data: Path,
        *,
        images: Path | str | None = None,
        scoring: Scoring = "official",
        reader: str | None = None,
    ) -> None:
        if scoring not in self.scorings:
            raise UsageError(f"{card.name} has no scoring {scoring!r}", remedy=f"It has {' and '.join(self.scorings)}.")
        self.card, self.data, self.scoring = card, data, scoring
        self.parser: Parser = parser(reader or card.scoring.parser)
        self._web = str(images) if is_url(str(images)) else ""
        self._images = Path(images) if images is not None and not self._web else None
        self._made: tuple[Form, Form] | None = None

    # --- what an adapter may override ---

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric; the first is the one audited unless the card names others."""
        return YES_NO if self.card.task == "yes_no" else ACCURACY

    def read(self) -> Form:
        """The original form; by default the card's items file with its field mapping."""
        return read_items(self.card, self.data)

    def parallel(self, form: Form) -> Form:
        """The parallel form; by default by the task (flip, shuffle, rephrase)."""
        return build_parallel(form)

    def score(self, item: Item, response: Response) -> Verdict:
        """The verdict of the benchmark's own rule on one answer."""
        if item.task == "yes_no":
            return score_yes_no(item, response, self.reader(item), is_negated(item))
        return score_choice(item, response) if item.task == "choice" else score_short(item, response)

    def judges(self) -> Mapping[str, Any]:
        """Judges beside the rule that need nobody else: name -> function of item and response."""
        return {}

    def subsets(self, item: Item) -> Sequence[str]:
        """The names of the subsets an item is in; metrics may look at one (`existence.f1`)."""
        return [name for name in (item.part, item.type) if name]

    def check(self, form: Form) -> Iterable[Finding]:
        """Oddities of this benchmark's data, beyond what is checked for every benchmark."""
        return ()

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Recorded answers in the release's own format: the form that the file answers, and item id -> response."""
        return form, read_answers(path, form)

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """Recorded administrations in the shapes a release ships; None where HQM's own format is to be expected."""
        return None

    def prepare_images(self, form: Form) -> None:
        """Make sure that the pictures exist; an embedded benchmark draws them here."""

    # --- what follows from that ---

    @property
    def name(self) -> str:
        return self.card.name

    @property
    def images(self) -> Path:
        """Where the pictures lie on this machine: the folder, zip or parquet files."""
        return self._images or self.data / self.card.data.images

    @cached_property
    def pictures(self) -> ImageSource:
        """Gives a picture's file by its name."""
        card = self.card.data
        if self._web or (self._images is None and is_url(card.images)):
            return open_images(self._web or card.images)
        if self._images is None and not card.images and card.items.endswith(".parquet"):
            return open_images(self.data / card.items)
        return open_images(self.images)

    @cached_property
    def checksums(self) -> Checksums:
        """What its pictures must be; nothing where its card names no list."""
        return Checksums.load(self.data / self.card.data.checksums) if self.card.data.checksums else Checksums()

    @property
    def label(self) -> str:
        """Name, version and scoring, as a signature has them."""
        return f"{self.name}@{self.card.version}"

    @cached_property
    def original(self) -> Form:
        """The original form, read once."""
        form = self.read()
        if not form.items:
            raise DataError("it has no items", place=self.name, remedy="Check the items file that the card names.")
        return form

    @property
    def parallel_form(self) -> Form:
        """The parallel form of the original, made once."""
        if self._made is None or self._made[0] is not self.original:
            self._made = (self.original, self.parallel(self.original))
        return self._made[1]

    @property
    def audited(self) -> tuple[Metric, ...]:
        """The metrics an audit looks at."""
        return tuple(self.metric(name) for name in self.card.scoring.audited) or self.metrics[:1]

    def metric(self, name: str) -> Metric:
        """The metric of this name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        known = ", ".join(metric.name for metric in self.metrics)
        raise UsageError(f"{self.name} has no metric {name!r}", remedy=f"It has {known}.")

    def reader(self, item: Item) -> Parser:
        """The reader of an item's answer: a flipped question needs one that understands negation."""
        return self.parser if self.parser.reads_negation or not is_negated(item) else parser("strict")

    def asked(self, item: Item) -> str:
        """The text put to a respondent: the question, its options, and what the card writes round it."""
        text = render_options(item.prompt, item.options) if item.options else item.prompt
        return f"{self.card.prompt.prefix}{text}{self.card.prompt.suffix}"

    def verdict(self, item: Item, response: Response) -> Verdict:
        """Score one answer; an error is never scored as an answer."""
        if response.state in ("error", "missing"):
            return Verdict.unscored(response.state, response.reason)
        return settle(self.score(item, response), response)
