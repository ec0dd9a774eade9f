"""The one interface to a benchmark: its card, its forms, and how an answer is scored.

`Benchmark` is what follows from a card and an adapter. A subclass overrides members of `Adapter`,
its base class; nothing has to be overridden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import get_args

from hqm.benchmark.adapter import Adapter, Scoring
from hqm.benchmark.asking import Prompts
from hqm.benchmark.card import Card
from hqm.benchmark.shortened import Calibration, read_calibration
from hqm.errors import DataError, UsageError
from hqm.files.checksums import Checksums
from hqm.files.images import ImageSource, open_images
from hqm.files.names import is_url
from hqm.files.records import read_text
from hqm.forms.options import render_options
from hqm.forms.rules import is_negated
from hqm.scoring.alike import Alike
from hqm.scoring.metrics import Metric
from hqm.scoring.parsers import parser
from hqm.scoring.rules import no_answer, settle
from hqm.scoring.states import Withholding
from hqm.scoring.words.base import Words
from hqm.scoring.words.parts import compose, find_words
from hqm.types import Form, Item, Response, Verdict

__all__ = ["Benchmark", "Scoring"]


class Benchmark(Adapter):
    """A benchmark: what is asked, and what an answer is worth. `Adapter` lists what a subclass may
    override.

    Parameters
    ----------
    card
        Its card.
    data
        The folder with its data.
    images
        Its pictures: a folder, a zip, parquet files or a web address; those of the card unless
        given.
    scoring
        `official` (what the released scorer computes) or `paper` (what the paper defines). They are
        the same for a benchmark whose release and paper agree.
    reader
        The name of the parser of yes/no answers; the card's unless given.
    mode
        Which of several judge procedures; the first of `modes` unless given.
    prompts
        Whose prompts a judge is given: `hqm` (ours) or `official` (read from the release at run
        time).
    home
        The folder of the card, where our prompts lie.
    words
        Which parts answer questions about words (nouns, likeness, concreteness): a name of
        `recipes`, `part=name`, or both joined by commas; the first of `recipes` unless given.
    withheld
        Whether refused and empty answers are never scored (`unscored`), or as the release scores
        them (`official`).
    """

    def __init__(
        self,
        card: Card,
        data: Path,
        *,
        images: Path | str | None = None,
        scoring: Scoring = "official",
        reader: str | None = None,
        mode: str | None = None,
        prompts: Prompts = "hqm",
        home: Path | None = None,
        words: str | None = None,
        withheld: Withholding = "unscored",
    ) -> None:
        if scoring not in self.scorings:
            raise UsageError(
                f"{card.name} has no scoring {scoring!r}",
                remedy=f"It has {' and '.join(self.scorings)}.",
                given=scoring,
                known=self.scorings,
            )
        if mode is not None and mode not in self.modes:
            known = f"It has {' and '.join(self.modes)}." if self.modes else "It has only one."
            raise UsageError(
                f"{card.name} has no mode {mode!r}", remedy=known, given=mode, known=self.modes
            )
        self.card, self.data, self.scoring = card, data, scoring
        if withheld not in get_args(Withholding):
            known = " and ".join(get_args(Withholding))
            raise UsageError(
                f"withheld answers cannot be {withheld!r}",
                remedy=f"--withheld takes {known}.",
                given=withheld,
                known=get_args(Withholding),
            )
        if withheld == "official" and scoring != "official":
            what = f"no release defines what {scoring} scoring does with withheld answers"
            raise UsageError(what, remedy="Use --withheld official with --scoring official only.")
        self.withheld: Withholding = withheld
        self.mode = mode or next(iter(self.modes), "")
        self.prompts, self._home = prompts, home
        self.parser = parser(reader or card.scoring.parser)
        self.part: str | None = None
        """The part that `hqm.load` was asked for, where `original` has only its items."""
        self._web = str(images) if is_url(str(images)) else ""
        self._images = Path(images) if images is not None and not self._web else None
        self.recipe = compose(words, self.recipes, card.name)
        self._rewordings: tuple[Form, list[Form]] | None = None
        self._further: tuple[Form, tuple[Form, ...]] | None = None

    # --- names, as a signature has them ---

    @property
    def name(self) -> str:
        return self.card.name

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.name}@{self.card.version}"

    @property
    def scorer(self) -> str:
        """How an answer becomes a number: the scoring, and the parser or judge procedure."""
        judged = [
            f"mode={self.mode}" if self.mode else "",
            f"prompts={self.prompts}" if self.roles else "",
        ]
        reader = self.parser.name if self.card.task == "yes_no" and not self.roles else ""
        words = self.words.label if self.recipes else ""
        withheld = "withheld=official" if self.withheld == "official" else ""
        inside = ",".join(filter(None, [reader, *judged, words, withheld]))
        return f"{self.scoring}({inside})" if inside else self.scoring

    # --- forms and what is asked ---

    @cached_property
    def original(self) -> Form:
        """The original form, read once."""
        form = self.read()
        if not form.items:
            raise DataError(
                "it has no items",
                place=self.name,
                remedy="Check the items file that the card names.",
            )
        return form

    @cached_property
    def calibration(self) -> Calibration | None:
        """How answers to a short form become scores on the full benchmark's scale; None of a
        benchmark that is no short form.
        """
        name = self.card.shortened.calibration
        return read_calibration(self.data / name) if name else None

    @property
    def parallel_form(self) -> Form:
        """The parallel form of the original, made once."""
        return self.reworded(1)

    def reworded(self, draw: int) -> Form:
        """The form `parallel` (1), `parallel2` (2) and so on, made once together with those before
        it.
        """
        if self._rewordings is None or self._rewordings[0] is not self.original:
            self._rewordings = (self.original, [])
        made = self._rewordings[1]
        while len(made) < draw:
            original = self.original
            made.append(
                self.rewording(original, len(made) + 1, tuple(made))
                if made
                else self.parallel(original)
            )
        return made[draw - 1]

    @property
    def further_forms(self) -> tuple[Form, ...]:
        """The forms beside the original and the parallel one, made once."""
        if self._further is None or self._further[0] is not self.original:
            self._further = (self.original, self.more_forms(self.original))
        return self._further[1]

    def asked(self, item: Item) -> str:
        """The text that a respondent is given: the question, its options, and what the card writes
        round them.
        """
        text = render_options(item.prompt, item.options) if item.options else item.prompt
        return f"{self.card.prompt.prefix}{text}{self.card.prompt.suffix}"

    def prompt(self, name: str) -> str:
        """The judge's prompt template of this name: ours (`prompts/<name>.txt` beside the card) or
        the release's.
        """
        if self.prompts == "official":
            return self.official_prompt(name)
        return read_text((self._home or self.data) / "prompts" / f"{name}.txt")

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """The names of the judge's prompt templates that lie beside the card."""
        return tuple(
            sorted(path.stem for path in ((self._home or self.data) / "prompts").glob("*.txt"))
        )

    # --- pictures and words ---

    @property
    def images(self) -> Path:
        """Where the pictures lie on this machine: the folder, zip or parquet files."""
        return self._images or self.data / self.card.data.images

    @cached_property
    def pictures(self) -> ImageSource:
        """The source that gives a picture's file by its name."""
        card = self.card.data
        if self._web or (self._images is None and is_url(card.images)):
            return open_images(self._web or card.images)
        if self._images is None and not card.images and card.items.endswith(".parquet"):
            return open_images(self.data / card.items)
        return open_images(self.images)

    @cached_property
    def checksums(self) -> Checksums:
        """The sizes and checksums that its pictures must have; none where its card names no
        list.
        """
        return (
            Checksums.load(self.data / self.card.data.checksums)
            if self.card.data.checksums
            else Checksums()
        )

    @cached_property
    def words(self) -> Words:
        """The parts that answer questions about words, loaded when they are first used."""
        folders = (self.data / "words", self.data.parent / "words")
        return find_words(
            self.recipe, next((folder for folder in folders if folder.is_dir()), folders[1])
        )

    # --- scoring ---

    @property
    def audited(self) -> tuple[Metric, ...]:
        """The metrics that an audit looks at."""
        return tuple(self.metric(name) for name in self.card.scoring.audited) or self.metrics[:1]

    def metric(self, name: str) -> Metric:
        """The metric of this name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        known = [metric.name for metric in self.metrics]
        raise UsageError(
            f"{self.name} has no metric {name!r}",
            remedy=f"It has {', '.join(known)}.",
            given=name,
            known=known,
        )

    def verdict(self, item: Item, response: Response) -> Verdict:
        """Score one answer by rule; what is no answer stays unscored."""
        if none := self.no_answer(response):
            return none
        if self.roles:
            return Verdict.unscored("missing", "no judge was asked")
        return settle(self.score(item, response), response)

    def alike(self, item: Item) -> Alike | None:
        """What of an item decides the verdict on an answer; None where the item is looked at by
        itself.
        """
        decides = None if self.roles else self.decides(item)
        reader = self.reader(item) if decides is not None else None
        if reader is None or reader.kind is None:
            return None
        return Alike(decides, reader, is_negated(item), reader.kind(item.prompt))

    def no_answer(self, response: Response) -> Verdict | None:
        """The verdict on a response that is neither scored nor judged, because it is no answer;
        None for an answer.
        """
        return no_answer(response, self.withheld)

    def oracle(self, name: str) -> Callable[[Item, Response], Verdict]:
        """One of `judges()`, which sees answers only."""
        judge = self.judges()[name]
        return lambda item, response: self.no_answer(response) or judge(item, response)

    def with_beside(
        self, item: Item, response: Response, given: Mapping[str, Response]
    ) -> Response:
        """The response together with the same respondent's other answers that the judge procedure
        sees (`beside`).
        """
        texts = {
            key: given[key].text
            for key in self.beside(item)
            if key in given and self.no_answer(given[key]) is None
        }
        return response._replace(detail={**response.detail, "beside": texts}) if texts else response
