"""The one interface: a benchmark is a card, its forms, and how an answer is scored.

A subclass (an adapter) overrides what its card cannot say; nothing has to be overridden.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from hqm.benchmark.asking import AskJudge, Prompts
from hqm.benchmark.card import Card
from hqm.benchmark.findings import Finding
from hqm.benchmark.items import read_items
from hqm.benchmark.labels import read_criterion
from hqm.benchmark.recorded import Recording, read_answers
from hqm.benchmark.replies import Replies, read_replies
from hqm.errors import DataError, UsageError
from hqm.files.checksums import Checksums
from hqm.files.images import ImageSource, open_images
from hqm.files.names import is_url
from hqm.files.records import read_text
from hqm.forms.build import build_parallel, is_negated
from hqm.forms.options import render_options
from hqm.scoring.metrics import ACCURACY, YES_NO, Metric
from hqm.scoring.parsers import Parser, parser
from hqm.scoring.rules import score_choice, score_short, score_yes_no, settle
from hqm.scoring.words.base import Recipe, Words
from hqm.scoring.words.parts import compose, find_words
from hqm.types import Form, Item, Judgement, Response, Verdict

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
    mode
        Which of several judge procedures; the first of `modes` unless given.
    prompts
        Whose words a judge is asked in: `hqm` (ours) or `official` (read from the release at run time).
    home
        The folder of the card, where our prompts lie.
    words
        Which parts answer questions about words (nouns, likeness, concreteness): a name of `recipes`, `part=name`, or
        both joined by commas; the first of `recipes` unless given.
    """

    scorings: ClassVar[tuple[Scoring, ...]] = ("official", "paper")
    modes: ClassVar[tuple[str, ...]] = ()
    """The named judge procedures, where a release knows several; `rule` among them asks nobody."""
    recipes: ClassVar[Mapping[str, Recipe]] = {}
    """The named choices of parts for questions about words, the default first; empty where none is asked."""

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
    ) -> None:
        if scoring not in self.scorings:
            raise UsageError(f"{card.name} has no scoring {scoring!r}", remedy=f"It has {' and '.join(self.scorings)}.")
        if mode is not None and mode not in self.modes:
            known = f"It has {' and '.join(self.modes)}." if self.modes else "It has only one."
            raise UsageError(f"{card.name} has no mode {mode!r}", remedy=known)
        self.card, self.data, self.scoring = card, data, scoring
        self.mode = mode or next(iter(self.modes), "")
        self.prompts, self._home = prompts, home
        self.parser: Parser = parser(reader or card.scoring.parser)
        self._web = str(images) if is_url(str(images)) else ""
        self._images = Path(images) if images is not None and not self._web else None
        self.recipe = compose(words, self.recipes, card.name)
        self._made: tuple[Form, Form] | None = None
        self._further: tuple[Form, tuple[Form, ...]] | None = None

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

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        """Forms beside the original and the parallel one, each with its own name."""
        return ()

    def score(self, item: Item, response: Response) -> Verdict:
        """The verdict of the benchmark's own rule on one answer."""
        if item.task == "yes_no":
            return score_yes_no(item, response, self.reader(item), is_negated(item))
        return score_choice(item, response) if item.task == "choice" else score_short(item, response)

    def judges(self) -> Mapping[str, Any]:
        """Judges beside the rule that need nobody else: name -> function of item and response."""
        return {}

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that the judge procedure asks for; empty where a rule scores."""
        return ()

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """The verdict of the judge procedure on one answer; an unreadable reply is unscored, with its reason."""
        return self.score(item, response)

    async def judge_together(
        self, item: Item, responses: Mapping[str, Response], ask: AskJudge
    ) -> Mapping[str, Verdict]:
        """The verdicts on all respondents' answers to one item, where they are judged in one call; else one by one."""
        return {name: settle(await self.judge(item, response, ask), response) for name, response in responses.items()}

    @property
    def jointly(self) -> bool:
        """Whether all respondents' answers to an item are judged in one call."""
        return False

    def official_prompt(self, name: str) -> str:
        """The release's own prompt of this name, read from its files."""
        raise DataError(f"the release of {self.name} has no prompt {name!r} in its files", remedy="Use --prompts hqm.")

    def read_replies(self, path: Path, form: Form) -> Mapping[str, Replies]:
        """Recorded replies of judges in the release's own format: item id -> role -> replies in the order asked.

        By default HQM's format: records with `item`, `role` and `reply`, in the order asked.
        """
        return read_replies(path, form)

    def read_criterion(self, path: Path, form: Form, respondents: Sequence[str] | None) -> Sequence[Judgement]:
        """People's labels of these respondents' answers (of anybody's, if None), in HQM's format or the release's own."""
        return read_criterion(path, form, respondents)

    def group_metrics(self, scores: Mapping[str, Mapping[str, float | None]]) -> Mapping[str, float | None]:
        """Metrics of the whole group from the metrics of its members (benchmark name -> metric -> value)."""
        return {}

    def groupings(self, item: Item) -> Mapping[str, str]:
        """The groups an item is in (grouping -> group); a metric may first reduce within groups (`Metric.group`)."""
        return {}

    def beside(self, item: Item) -> Sequence[str]:
        """The ids of other items whose answers, by the same respondent, the judge procedure sees beside this one's.

        They come as `response.detail["beside"]`, id -> text; `with_beside` puts them there.
        """
        return ()

    def relate(self, items: Sequence[Item], verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        """One respondent's verdicts, where they depend on one another, once all are known; as they are by default.

        The items are those of the form in its order. A verdict may only depend on others of its own cluster, which
        resampling keeps whole.
        """
        return verdicts

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

    def with_beside(self, item: Item, response: Response, given: Mapping[str, Response]) -> Response:
        """The response with the answers of the same respondent that the judge procedure sees beside it."""
        texts = {key: given[key].text for key in self.beside(item) if key in given and given[key].state != "error"}
        return response._replace(detail={**response.detail, "beside": texts}) if texts else response

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

    def prompt(self, name: str) -> str:
        """The prompt template of this name: ours (`prompts/<name>.txt` beside the card) or the release's."""
        if self.prompts == "official":
            return self.official_prompt(name)
        return read_text((self._home or self.data) / "prompts" / f"{name}.txt")

    @cached_property
    def words(self) -> Words:
        """The parts that answer questions about words, loaded when first asked."""
        folders = (self.data / "words", self.data.parent / "words")
        return find_words(self.recipe, next((folder for folder in folders if folder.is_dir()), folders[1]))

    @property
    def label(self) -> str:
        """Name, version and scoring, as a signature has them."""
        return f"{self.name}@{self.card.version}"

    @property
    def scorer(self) -> str:
        """How an answer becomes a number, as a signature has it: scoring, and reader or judge procedure."""
        judged = [f"mode={self.mode}" if self.mode else "", f"prompts={self.prompts}" if self.roles else ""]
        reader = self.parser.name if self.card.task == "yes_no" and not self.roles else ""
        words = self.words.label if self.recipes else ""
        inside = ",".join(filter(None, [reader, *judged, words]))
        return f"{self.scoring}({inside})" if inside else self.scoring

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
    def further_forms(self) -> tuple[Form, ...]:
        """The forms beside the original and the parallel one, made once."""
        if self._further is None or self._further[0] is not self.original:
            self._further = (self.original, self.more_forms(self.original))
        return self._further[1]

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
        if self.roles:
            return Verdict.unscored("missing", "no judge was asked")
        return settle(self.score(item, response), response)
