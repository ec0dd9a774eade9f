"""What an adapter may override, all of it: nothing else of a benchmark is meant to be replaced.

Every member has a default, so a benchmark with a card and a file of items needs no adapter at all.
What HQM works out from these members (forms made once, the scorer's name in a signature, ...) is in
`hqm.benchmark.interface`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from hqm.benchmark.analyses import Analysis, ScoredAnswer
from hqm.benchmark.asking import AskJudge, Part, Stage
from hqm.benchmark.card import Card
from hqm.benchmark.findings import Finding
from hqm.benchmark.items import read_items
from hqm.benchmark.judged import JudgedRow
from hqm.benchmark.labels import read_criterion
from hqm.benchmark.recorded import Recording, read_answers
from hqm.benchmark.replies import Replies, read_replies
from hqm.errors import AnswerError, CardError, DataError
from hqm.forms.rules import is_negated
from hqm.scoring.metrics import ACCURACY, YES_NO, Metric
from hqm.scoring.parsers import Parser, parser
from hqm.scoring.rules import score_choice, score_short, score_yes_no, settle
from hqm.scoring.words.base import Recipe
from hqm.types import Form, Item, Judgement, Response, Verdict

Scoring = Literal["official", "paper"]


class Adapter:
    """The members that an adapter may override; it may also set a default of `Benchmark` in its own
    `__init__`.

    ========  ==============================================================================================
    items     read, parallel, rewording, more_forms, check, prepare_images
    scores    metrics, score, subsets, groupings; seldom: decides, reader, relate, group_metrics, scorings, recipes, analyses
    judges    roles, judge, read_replies, official_prompt; seldom: modes, judges, jointly, judge_together, beside,
              read_judgements, replies_saying, verdict_of_people, stages, decide, parts
    files     read_answers, recordings, read_criterion, spelled; seldom: make_files
    ========  ==============================================================================================
    """

    card: Card
    data: Path
    parser: Parser

    scorings: ClassVar[tuple[Scoring, ...]] = ("official", "paper")
    modes: ClassVar[tuple[str, ...]] = ()
    """The names of the judge procedures where a release has several; the mode `rule` asks no
    judge.
    """
    recipes: ClassVar[Mapping[str, Recipe]] = {}
    """The named choices of parts for questions about words, the default first; empty where no such
    question is asked.
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
        return (
            score_choice(item, response) if item.task == "choice" else score_short(item, response)
        )

    def decides(self, item: Item) -> Hashable | None:
        """All that `score` takes from an item beside what its `reader` makes of the answer; None
        where that is not said.

        Where it is said, a short answer is scored once for all items with the same value. An
        adapter that overrides `score` says it for its own rule, or leaves it unsaid.
        """
        own = getattr(self.score, "__func__", None) is not Adapter.score
        return None if own or item.task != "yes_no" else str(item.target)

    def parallel(self, form: Form) -> Form:
        """The parallel form; by default yes/no questions are turned round, options shuffled and
        other prompts rephrased.
        """
        from hqm.forms.build import build_parallel

        return build_parallel(form)

    def rewording(self, form: Form, draw: int, earlier: Sequence[Form]) -> Form:
        """A further parallel form (`draw` 2 for `parallel2`), in words that neither the original
        nor `earlier` forms have.
        """
        from hqm.forms.build import build_rewording

        return build_rewording(form, draw, earlier)

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        """Forms beside the original and the parallel one, each with a name of its own."""
        return ()

    def subsets(self, item: Item) -> Sequence[str]:
        """The names of the subsets that an item belongs to; a metric may look at one of them
        (`existence.f1`).
        """
        return [name for name in (item.part, item.type) if name]

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

    def read_judgements(self, path: Path, form: Form) -> Sequence[JudgedRow] | None:
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
            what = f"a verdict does not say what each role replied ({', '.join(self.roles)})"
            raise AnswerError(
                what, place=self.card.name, remedy="Bring the raw replies: item, role, reply."
            )
        return {self.roles[0]: (mark,)}

    def official_prompt(self, name: str) -> str:
        """The release's own prompt of this name, read from the release's files."""
        what = f"the release of {self.card.name} has no prompt {name!r} in its files"
        raise DataError(what, remedy="Use --prompts hqm.")

    def judges(self) -> Mapping[str, Any]:
        """Further judges that are plain functions of item and response and ask no model: name ->
        function.
        """
        return {}

    @property
    def jointly(self) -> bool:
        """Whether all respondents' answers to an item are judged in one call."""
        return False

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

    def beside(self, item: Item) -> Sequence[str]:
        """The ids of other items whose answers, by the same respondent, the judge procedure sees as
        well.

        They arrive as `response.detail["beside"]` (id -> text); `Benchmark.with_beside` puts them
        there.
        """
        return ()

    @property
    def stages(self) -> Mapping[str, Stage]:
        """Role -> what it decides of each unit, for roles that people's labels can be held against
        one by one; none by default.
        """
        return {}

    async def decide(
        self, role: str, item: Item, response: Response, unit: str, ask: AskJudge
    ) -> bool | None:
        """What one of the `stages` says of a unit that people labelled: yes, no, or None where its
        reply says neither.

        It asks as `judge` asks, so that a reply that is stored is not asked for again.
        """
        return None

    async def parts(self, item: Item, response: Response, ask: AskJudge) -> Sequence[Part]:
        """The parts and facts that the judge procedure makes of an answer, with which people who
        label facts begin; none by default.
        """
        return ()

    # --- files of the release ---

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """Recorded answers in the release's own format: the form that the file answers, and item id
        -> response.
        """
        return form, read_answers(path, form)

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
        return read_criterion(path, form, respondents)

    def verdict_of_people(self, item: Item, judgement: Judgement) -> Verdict | None:
        """The score that a person's label gives an answer, where people can stand in for the judge;
        None where they cannot.

        Then an audit with labels needs no judge: `hqm audit NAME --criterion FILE`. A metric that
        sums what the tally lacks is left out.
        """
        return None

    @classmethod
    def make_files(cls, inputs: Mapping[str, Path]) -> Mapping[str, Any]:
        """The content of the files that the card says are `made_from` others: file name -> a value
        for JSON.

        `inputs` says where each of the others lies that is there; `hqm fetch` writes what comes
        back.
        """
        raise CardError(
            "its card names files that are made from others, and its adapter makes none",
            place=cls.__name__,
        )

    # --- seldom needed ---

    def reader(self, item: Item) -> Parser:
        """The parser of an item's answer; a negated question needs one that understands
        negation.
        """
        return (
            self.parser if self.parser.reads_negation or not is_negated(item) else parser("strict")
        )

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
