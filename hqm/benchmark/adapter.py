"""What an adapter may override, all of it: nothing else of a benchmark is meant to be replaced.

Every member has a default, so a benchmark with a card and a file of items needs no adapter at all.
What HQM works out from these members (forms made once, the scorer's name in a signature, ...) is in
`hqm.benchmark.adapter`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from hqm.benchmark.analyses import Analysis, ScoredAnswer
from hqm.benchmark.card import Card
from hqm.benchmark.findings import Finding
from hqm.benchmark.items import read_items
from hqm.benchmark.judge_api import AnswerPart, AskJudge, Prompts, Stage, read_replies
from hqm.errors import AnswerError, CardError, DataError, UsageError, check_known
from hqm.files.cache import is_url
from hqm.files.images import Checksums, ImageSource, open_images
from hqm.files.records import read_json, read_text
from hqm.forms.grammar import is_negated
from hqm.forms.wording import render_options
from hqm.imports.human_labels import read_criterion
from hqm.imports.recordings import Recording, read_answers
from hqm.imports.row import Replies, Row
from hqm.moved_names import RenamedAttributes
from hqm.scoring.metrics import ACCURACY, YES_NO, Metric
from hqm.scoring.parsers import Parser, parser
from hqm.scoring.rules import (
    Withholding,
    counted_wrong,
    no_answer,
    score_choice,
    score_short,
    score_yes_no,
    settle,
)
from hqm.scoring.score_cache import ScoringKey
from hqm.scoring.words.interfaces import Recipe, Words
from hqm.scoring.words.parts import compose, find_words
from hqm.signature import scoring_label
from hqm.types import Form, Item, Judgement, Response, Verdict, names_of

# --- what a short form says of the full benchmark ---
#
# The calibration that `hqm shorten NAME AUDIT --out FOLDER` writes beside its items.

_RECREATE_REMEDY = (
    "Make the short form again with `hqm shorten NAME AUDIT --out FOLDER`; a calibration is not"
    " meant to be edited."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormLoss:
    """What a form loses of one metric, measured on families of respondents that it was not chosen
    from.

    Parameters
    ----------
    mean_error, bias
        The mean distance of the scores on the full scale from the scores on all items, and their
        mean difference.
    tau
        Kendall's tau-b between the two orders of the respondents; None where either has no spread.
    coverage, half_width
        The share of 95% intervals that contain the score on all items, and half their mean width.
    factor, freedom
        What standard errors are multiplied by, and the degrees of freedom of the intervals.
    respondents
        How many were held out.
    """

    mean_error: float
    bias: float
    tau: float | None
    coverage: float
    half_width: float
    factor: float
    freedom: float
    respondents: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """How answers to a short form become scores on the full benchmark's scale, and from which
    audit.

    Parameters
    ----------
    of, version, of_items
        The full benchmark, its version, and how many items it has.
    form
        Which of the parallel short forms this is: `a` or `b`.
    audit, answers, signature
        The content hash of the audit, that of the answers that the items were chosen by, and the
        signature of an estimate of the audit that was made of them.
    method, words
        How the items were chosen and weighted, by name and in words.
    errors
        Method -> root mean square error on held-out families: why it was this method.
    respondents, families
        Whose answers the items were chosen by.
    seed
        Where the random numbers began.
    ids, weights, auxiliary
        The items, for how many items of the full benchmark each stands, and what the standard error
        takes as known of it.
    loss
        Metric -> what is lost.
    parallel
        Metric -> `reliability`, `mean_shift` and `respondents` of two forms on held-out families.
    """

    of: str
    version: str
    of_items: int
    form: str
    audit: str
    answers: str
    signature: str
    method: str
    words: str
    errors: Mapping[str, float]
    respondents: tuple[str, ...]
    families: tuple[str, ...]
    seed: int
    ids: tuple[str, ...]
    weights: npt.NDArray[np.float64]
    auxiliary: npt.NDArray[np.float64]
    loss: Mapping[str, FormLoss]
    parallel: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """The calibration as JSON data."""
        return {
            **asdict(self),
            "weights": self.weights.tolist(),
            "auxiliary": self.auxiliary.tolist(),
        }

    def positions_of(self, ids: Sequence[str]) -> list[int] | None:
        """The position of each item in the calibration; None where they are not its items."""
        positions = dict(zip(self.ids, range(len(self.ids)), strict=True))
        # Weights belong to items, and recorded answers may stand in another order.
        return [positions[key] for key in ids] if sorted(ids) == sorted(positions) else None


def read_calibration(path: Path) -> Calibration:
    """Read a calibration file.

    Raises
    ------
    DataError
        The file is missing or is no calibration.
    """
    data = read_json(path)
    try:
        loss = {name: FormLoss(**values) for name, values in data["loss"].items()}
        read_fields = {
            "ids": tuple(map(str, data["ids"])),
            "respondents": tuple(map(str, data["respondents"])),
            "families": tuple(map(str, data["families"])),
            "weights": np.array(data["weights"], dtype=np.float64),
            "auxiliary": np.array(data["auxiliary"], dtype=np.float64),
            "loss": loss,
        }
        # A key that no version had is a TypeError here, so that a newer file is refused and not
        # half read.
        calibration = Calibration(**{**data, **read_fields})
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DataError(
            "it is no calibration of a short form", location=str(path), remedy=_RECREATE_REMEDY
        ) from None
    n_items = len(calibration.ids)
    fits = (
        calibration.weights.shape == (n_items,)
        and calibration.auxiliary.ndim == 2
        and len(calibration.auxiliary) == n_items
        and bool(np.isfinite(calibration.weights).all())
        and bool(np.isfinite(calibration.auxiliary).all())
    )
    if not fits:
        raise DataError(
            "its items, weights and auxiliary values do not fit together",
            location=str(path),
            remedy=_RECREATE_REMEDY,
        )
    return calibration


Scoring = Literal["official", "paper"]


class Adapter(RenamedAttributes):
    """What an adapter may override; its `__init__` may also set a default of `Benchmark`.

    ========  =====================================================================================
    items     read, parallel, rewording, more_forms, check, prepare_images; seldom:
              included_recordings
    scores    metrics, score, subsets, groupings; seldom: decides, reader, relate, group_metrics,
              scoring_files, scorings, recipes, analyses, tool_scored, verdict_of_scores,
              paper_parser, unread_is_wrong, has_card
    judges    roles, judge, read_replies, official_prompt; seldom: modes, judges, jointly,
              judge_together, context_items, read_judgements, replies_saying, verdict_of_people,
              stages, decide, parts
    files     read_answers, recordings, read_criterion, spelled; seldom: make_files
    ========  =====================================================================================
    """

    card: Card
    data: Path
    parser: Parser
    mode: str
    scoring: Scoring

    scorings: ClassVar[tuple[Scoring, ...]] = ("official", "paper")
    paper_parser: ClassVar[str] = ""
    """The parser of `paper` scoring, where it is another one than the card's."""
    unread_is_wrong: ClassVar[bool] = False
    """Whether official scoring counts an answer that cannot be read as wrong."""
    has_card: ClassVar[bool] = True  # false of logs, whose card and ids HQM makes
    modes: ClassVar[tuple[str, ...]] = ()
    """The names of the judge procedures, where there are several; `rule` asks no judge."""
    included_recordings: Sequence[Recording] = ()
    """Administrations that it comes with, as one that is made from logs does."""
    tool_scored: bool = False
    """Whether the tool that recorded the answers scored them, and not a rule of ours."""
    scoring_files: Sequence[Path] | None = None
    """The files that an own `score` reads, where it depends on them, item and answer alone."""
    recipes: ClassVar[Mapping[str, Recipe]] = {}
    """The named choices of parts for questions about words, the default first; empty where none
    is.
    """

    # --- items, forms and scores ---

    def read(self) -> Form:
        """The original form; by default the items file that the card names, with the card's field
        names.
        """
        return read_items(self.card, self.data)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric; an audit looks at the first one unless the card names others."""
        return YES_NO if self.card.task == "yes_no" else ACCURACY

    def score(self, item: Item, response: Response) -> Verdict:
        """The verdict of the benchmark's own rule on one answer."""
        if item.task == "yes_no":
            return score_yes_no(item, response, self.reader(item), is_negated(item))
        rule = score_choice if item.task == "choice" else score_short
        verdict = rule(item, response, self.parser)
        if self.unread_is_wrong and self.scoring == "official":
            return counted_wrong(verdict)
        return verdict

    def decides(self, item: Item) -> Hashable | None:
        """A value that determines, with the reading of the answer, what `score` returns; None where
        every item must be scored by itself.

        A short answer is scored once for all items with the same value. An adapter that overrides
        `score` may return one for its own rule.
        """
        # an adapter's own `score` may use any field of an item
        has_own_rule = getattr(self.score, "__func__", None) is not Adapter.score
        return None if has_own_rule or item.task != "yes_no" else str(item.target)

    def parallel(self, form: Form) -> Form:
        """The parallel form; by default yes/no questions are negated, options shuffled and other
        prompts rephrased.
        """
        # Imported where it is used: a command that only reads scores never makes a form.
        from hqm.forms.make_forms import build_parallel

        return build_parallel(form)

    def rewording(self, form: Form, draw: int, earlier: Sequence[Form]) -> Form:
        """A further parallel form (`draw` 2 for `parallel2`), in words that neither the original
        nor `earlier` forms have.
        """
        from hqm.forms.make_forms import build_rewording

        return build_rewording(form, draw, earlier)

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        """Forms beside the original and the parallel one, each with a name of its own."""
        return ()

    def subsets(self, item: Item) -> Sequence[str]:
        """The names of the subsets that an item belongs to; a metric may look at one of them
        (`existence.f1`).
        """
        # An empty part would be a subset that all items without one have in common.
        return list(filter(None, (item.part, item.type)))

    def groupings(self, item: Item) -> Mapping[str, str]:
        """Grouping -> the item's group in it; a metric may first reduce within groups
        (`Metric.group`).
        """
        return {}

    def check(self, form: Form) -> Iterable[Finding]:
        """Oddities of this benchmark's data, beyond what is checked for every benchmark."""
        return ()

    def analyses(self, answers: Sequence[ScoredAnswer]) -> Iterable[Analysis]:
        """Further tables of this benchmark, made of all answers to the reference administration."""
        return ()

    def prepare_images(self, form: Form) -> None:
        """Make sure that the pictures exist; an embedded benchmark draws them here."""

    # --- judge procedures ---

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that the judge procedure asks for; empty where a rule scores the answers."""
        return ()

    async def judge(self, item: Item, response: Response, ask: AskJudge) -> Verdict:
        """The verdict of the judge procedure on one answer; a reply that cannot be read leaves it
        unscored.
        """
        return self.score(item, response)

    def read_replies(self, path: Path, form: Form) -> Mapping[str, Replies]:
        """Recorded replies of judges: item id -> role -> replies in the order in which they were
        asked for.

        By default HQM's format: records with `item`, `role` and `reply`. An adapter may read the
        release's own files.
        """
        return read_replies(path, form)

    def read_judgements(self, path: Path, form: Form) -> Sequence[Row] | None:
        """The rows of a release's own file of judgements, for `hqm audit --judgements`; None where
        the file is no such file.

        Without it, files in the plain layout (`verdict`, `score` or `reply`) are read, and whatever
        `read_replies` reads.
        """
        return None

    def replies_saying(self, mark: str) -> Replies:
        """The replies to the judge procedure that say a verdict or score of the plain layout: role
        -> replies.

        By default the text itself, as the reply of the one role. An adapter whose procedure reads
        more than a word writes the word as its procedure reads it, and raises `UnreadableReply` for
        a mark that says nothing.
        """
        if len(self.roles) != 1:
            raise AnswerError(
                f"a verdict does not say what each role replied ({', '.join(self.roles)})",
                location=self.card.name,
                remedy="Bring the raw replies: item, role, reply.",
            )
        # One reply of one role: a procedure that asks again finds none left, and the answer is
        # unscored.
        return dict.fromkeys(self.roles, (mark,))

    def official_prompt(self, name: str) -> str:
        """The release's own prompt of this name, read from the release's files."""
        raise DataError(
            f"the release of {self.card.name} has no prompt {name!r} in its files",
            remedy="Use --set prompts=hqm.",
        )

    def judges(self) -> Mapping[str, Callable[[Item, Response], Verdict]]:
        """Further judges, by name: plain functions of item and response that ask no model."""
        return {}

    @property
    def jointly(self) -> bool:
        """Whether all answers to an item are judged in one call, as in the mode `joint`."""
        return self.mode == "joint"

    async def judge_together(
        self, item: Item, responses: Mapping[str, Response], ask: AskJudge
    ) -> Mapping[str, Verdict]:
        """The verdicts on all respondents' answers to one item; by default each answer is judged by
        itself.
        """
        return {
            name: settle(await self.judge(item, response, ask), response)
            for name, response in responses.items()
        }

    def context_items(self, item: Item) -> Sequence[str]:
        """The ids of other items whose answers by the same respondent the judge procedure sees too.

        They arrive as `response.detail["beside"]` (id -> text); `Benchmark.with_context` puts them
        there.
        """
        return ()

    @property
    def stages(self) -> Mapping[str, Stage]:
        """Role -> its decision about each unit, for roles whose decisions can be compared with
        people's labels; none by default.
        """
        return {}

    async def decide(
        self, role: str, item: Item, response: Response, unit: str, ask: AskJudge
    ) -> bool | None:
        """The decision of one of the `stages` about a unit that people labelled: yes, no, or None
        where its reply has neither.

        It asks as `judge` asks, so that a reply that is stored is not asked for again.
        """
        return None

    async def parts(self, item: Item, response: Response, ask: AskJudge) -> Sequence[AnswerPart]:
        """The parts and facts that the judge procedure makes of an answer, with which people who
        label facts begin; none by default.
        """
        return ()

    # --- files of the release ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Recorded answers in the release's own format: the form that the file answers, and item id
        -> response.
        """
        return form, read_answers(path, form, self.spelled, self.card.name)

    def spelled(self, text: str) -> str:
        """A question's text as all copies of the benchmark agree on it, where some have typing
        errors.
        """
        return text

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """Recorded administrations in a release's own format; None where the file is in HQM's
        format.
        """
        return None

    def read_criterion(
        self, path: Path, form: Form, respondents: Sequence[str] | None
    ) -> Sequence[Judgement]:
        """Human labels of these respondents' answers (of all respondents' if None), in HQM's format
        or the release's.
        """
        return read_criterion(
            path, form, respondents, benchmark=self.card.name, spelling=self.spelled
        )

    def verdict_of_people(self, item: Item, judgement: Judgement) -> Verdict | None:
        """The verdict of a person's label on an answer, where people can replace the judge; None
        where they cannot.

        Then an audit with labels needs no judge: `hqm audit NAME --criterion FILE`. A metric that
        sums what the tally lacks is left out.
        """
        return None

    def verdict_of_scores(self, scores: Mapping[str, float], read: str) -> Verdict:
        """The verdict that a tool's own scores of an answer are, of a benchmark that the tool
        scored.
        """
        return Verdict.unscored("missing", "no tool scores this benchmark")

    @classmethod
    def make_files(cls, inputs: Mapping[str, Path]) -> Mapping[str, object]:
        """The content of the files that the card says are `made_from` others: file name -> a value
        for JSON.

        `inputs` says where each of the others lies that is there; `hqm fetch` writes what comes
        back.
        """
        raise CardError(
            "its card names files that are made from others, and its adapter makes none",
            location=cls.__name__,
        )

    # --- seldom needed ---

    def reader(self, item: Item) -> Parser:
        """The parser of an item's answer; a negated question needs one that understands
        negation.
        """
        reader = self.parser.for_task(item.task)
        return reader if reader.reads_negation or not is_negated(item) else parser("strict")

    def relate(self, items: Sequence[Item], verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        """One respondent's verdicts, corrected where they depend on one another; unchanged by
        default.

        The items are those of the form in its order. A verdict may depend on others of its own
        cluster only, because resampling keeps clusters whole.
        """
        return verdicts

    def group_metrics(
        self, scores: Mapping[str, Mapping[str, float | None]]
    ) -> Mapping[str, float | None]:
        """Metrics of the whole group, from the metrics of its members (benchmark name -> metric ->
        value).
        """
        return {}


# --- the one interface to a benchmark ---
#
# Its card, its forms, and how an answer is scored.
#
# `Benchmark` is what follows from a card and an adapter. A subclass overrides members of
# `Adapter`, its base class; nothing has to be overridden.


class Benchmark(Adapter):
    """A benchmark: what is asked, and what an answer is worth.

    `Adapter` lists what a subclass may override.

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
        The name of the parser of short answers; the card's unless given.
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
        Refused and empty answers: never scored (`unscored`), or as the release does (`official`).
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
        check_known(
            scoring,
            self.scorings,
            f"{card.name} has no scoring {scoring!r}",
            f"It has {' and '.join(self.scorings)}.",
        )
        if mode is not None and mode not in self.modes:
            remedy = "It has only one."
            if self.modes:
                remedy = f"It has {' and '.join(self.modes)}."
            raise UsageError(
                f"{card.name} has no mode {mode!r}", remedy=remedy, name=mode, choices=self.modes
            )
        self.card = card
        self.data = data
        self.scoring = scoring
        check_known(
            withheld,
            get_args(Withholding),
            f"withheld answers cannot be {withheld!r}",
            f"The setting withheld takes {' and '.join(get_args(Withholding))}.",
        )
        if withheld == "official" and scoring != "official":
            raise UsageError(
                f"no release defines what {scoring} scoring does with withheld answers",
                remedy="Use --set withheld=official with --scoring official only.",
            )
        self.withheld: Withholding = withheld
        # The empty mode stays out of signatures: most benchmarks have one procedure only.
        self.mode = mode or next(iter(self.modes), "")
        self.prompts = prompts
        self._home = home
        scoring_parser = self.paper_parser if scoring == "paper" else ""
        # the named parser, else that of the paper's scoring, else the card's
        self.parser = parser(reader or scoring_parser or card.scoring.parser).for_task(card.task)
        self.read_with = ""  # the model that reads what the parser leaves unread, as signed
        self.part: str | None = None
        """The part that `hqm.load` was asked for, where `original` has only its items."""
        self._web = str(images) if is_url(str(images)) else ""
        self._images = Path(images) if images is not None and not self._web else None
        # Only the names are looked up here; word lists and models are loaded when `words` is first
        # used.
        self.recipe = compose(words, self.recipes, card.name)
        self._rewordings: tuple[Form, list[Form]] | None = None
        self._further: tuple[Form, tuple[Form, ...]] | None = None

    @property
    def has_own_answer_files(self) -> bool:
        """Whether its release has a format of answers of its own."""
        return type(self).read_answers is not Adapter.read_answers

    # --- names, as a signature has them ---

    @property
    def name(self) -> str:
        return self.card.name

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.name}@{self.card.version}"

    @property
    def reads(self) -> bool:
        """Whether its parser reads the answers: no judge scores them, and they are no captions."""
        return not self.roles and self.card.task != "caption"

    @property
    def scorer(self) -> str:
        """How an answer becomes a number: the scoring, and the parser or judge procedure."""
        qualifiers = []
        if self.reads:
            qualifiers += [self.parser.label, self.read_with]
        if self.mode:
            qualifiers.append(f"mode={self.mode}")
        if self.roles:
            qualifiers.append(f"prompts={self.prompts}")
        if self.recipes:
            qualifiers.append(self.words.label)
        if self.withheld == "official":
            qualifiers.append("withheld=official")
        qualifier = ",".join(filter(None, qualifiers))
        return scoring_label(self.scoring, self.name) + (f"({qualifier})" if qualifier else "")

    # --- forms and what is asked ---

    @cached_property
    def original(self) -> Form:
        """The original form, read once."""
        form = self.read()
        if not form.items:
            raise DataError(
                "it has no items",
                location=self.name,
                remedy="Check the items file that the card names.",
            )
        return form

    @cached_property
    def calibration(self) -> Calibration | None:
        """How answers to a short form become scores on the full scale; else None."""
        name = self.card.shortened.calibration
        if name:
            return read_calibration(self.data / name)
        return None

    @property
    def parallel_form(self) -> Form:
        """The parallel form of the original, made once."""
        return self.reworded(1)

    def reworded(self, draw: int) -> Form:
        """Return the form `parallel` (1), `parallel2` (2) ..., made once with those before it."""
        # `original` is replaced where a part or a limit is asked for; its forms are then stale
        if self._rewordings is None or self._rewordings[0] is not self.original:
            self._rewordings = (self.original, [])
        rewordings = self._rewordings[1]
        while len(rewordings) < draw:
            original = self.original
            if rewordings:
                form = self.rewording(original, len(rewordings) + 1, tuple(rewordings))
            else:
                form = self.parallel(original)
            rewordings.append(form)
        return rewordings[draw - 1]

    @property
    def further_forms(self) -> tuple[Form, ...]:
        """The forms beside the original and the parallel one, made once."""
        # As in `reworded`: forms of another `original` are stale.
        if self._further is None or self._further[0] is not self.original:
            self._further = (self.original, self.more_forms(self.original))
        return self._further[1]

    def question_text(self, item: Item) -> str:
        """Return what a respondent is given: question, options, and the card's words round them."""
        if item.options:
            text = render_options(item.prompt, item.options)
        else:
            text = item.prompt
        return f"{self.card.prompt.prefix}{text}{self.card.prompt.suffix}"

    def prompt(self, name: str) -> str:
        """Return a judge's prompt: ours (`prompts/<name>.txt` by the card) or the release's."""
        if self.prompts == "official":
            return self.official_prompt(name)
        return read_text((self._home or self.data) / "prompts" / f"{name}.txt")

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """The names of the judge's prompt templates that lie beside the card."""
        # the prompts lie beside the card, not beside the data
        templates = ((self._home or self.data) / "prompts").glob("*.txt")
        return tuple(sorted(map(attrgetter("stem"), templates)))

    # --- pictures and words ---

    @property
    def images(self) -> Path:
        """Where the pictures lie on this machine: the folder, zip or parquet files."""
        return self._images or self.data / self.card.data.images

    @property
    def makes_pictures(self) -> bool:
        """Whether `prepare_images` makes pictures, so that before an audit none is missing."""
        return type(self).prepare_images is not Benchmark.prepare_images

    @cached_property
    def pictures(self) -> ImageSource:
        """The source that gives a picture's file by its name."""
        card = self.card.data
        if self._web or (self._images is None and is_url(card.images)):
            return open_images(self._web or card.images)
        # a parquet file of items may have the pictures in a column
        if self._images is None and not card.images and card.items.endswith(".parquet"):
            return open_images(self.data / card.items)
        return open_images(self.images)

    @cached_property
    def checksums(self) -> Checksums:
        """The sizes and checksums of its pictures, where its card names a list."""
        if not self.card.data.checksums:
            return Checksums()
        return Checksums.load(self.data / self.card.data.checksums)

    @cached_property
    def words(self) -> Words:
        """The parts that answer questions about words, loaded when they are first used."""
        # benchmarks of one data root share the word lists beside their folders
        words_folder = self.data / "words"
        return find_words(
            self.recipe, words_folder if words_folder.is_dir() else self.data.parent / "words"
        )

    # --- scoring ---

    @property
    def audited(self) -> tuple[Metric, ...]:
        """The metrics that an audit looks at."""
        return tuple(map(self.metric, self.card.scoring.audited)) or self.metrics[:1]

    def metric(self, name: str) -> Metric:
        """Return the metric of this name."""
        # of two metrics with one name the first counts
        names = names_of(self.metrics)
        check_known(name, names, f"{self.name} has no metric {name!r}", "It has {}.")
        return self.metrics[names.index(name)]

    def verdict(self, item: Item, response: Response) -> Verdict:
        """Score one answer by rule; a refusal or a missing answer stays unscored."""
        if unscored := self.no_answer(response):
            return unscored
        if self.roles:
            return Verdict.unscored("missing", "no judge was asked")
        return settle(self.score(item, response), response)

    def alike(self, item: Item) -> ScoringKey | None:
        """Return what an item's verdicts depend on; None where it is scored by itself."""
        decides = None if self.roles else self.decides(item)
        reader = self.reader(item) if decides is not None else None
        if reader is None or reader.kind is None:
            return None
        return ScoringKey(decides, reader, is_negated(item), reader.kind(item.prompt))

    def no_answer(self, response: Response) -> Verdict | None:
        """Return the verdict on a refused, empty or missing answer; None for one that is scored."""
        return no_answer(response, self.withheld)

    def oracle(self, name: str) -> Callable[[Item, Response], Verdict]:
        """One of `judges()`, which sees answers only."""
        judge = self.judges()[name]
        # A plain judge sees texts alone, and would score a refusal as an answer.
        return lambda item, response: self.no_answer(response) or judge(item, response)

    def with_context(
        self, item: Item, response: Response, answers: Mapping[str, Response]
    ) -> Response:
        """Return the response with the other answers that the judge procedure sees (`beside`)."""
        texts = {}
        for key in self.context_items(item):
            if key in answers and self.no_answer(answers[key]) is None:
                texts[key] = answers[key].text
        if not texts:
            return response
        return response._replace(detail={**response.detail, "beside": texts})


__all__ = ["Benchmark", "Scoring"]
