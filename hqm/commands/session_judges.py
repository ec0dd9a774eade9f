"""Who judges the answers in a session, and the asking of those that are asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from hqm.administration.administering import Outcome, sum_outcomes
from hqm.administration.asks import Asks, StoredRespondent
from hqm.administration.costs import prices_of
from hqm.administration.engines import Stop, never_stop
from hqm.administration.stored_answers import Answers, cells_in, forms_held
from hqm.benchmark.adapter import Benchmark
from hqm.commands.options import RunOptions
from hqm.commands.session_forms import SessionForms
from hqm.commands.session_respondents import SessionRespondents
from hqm.errors import UsageError
from hqm.imports.human_labels import HUMAN, labelled_by
from hqm.judges.file_judge import FileJudge, Judge, file_judges, store_judgements, stored_judgements
from hqm.judges.judge_models import Asking, Judging, Progress
from hqm.judges.judgements import (
    AnswerTexts,
    ImportedJudgements,
    JudgementSource,
    import_judgements,
)
from hqm.judges.procedure import Panel, Rows, Unit, parse_roles
from hqm.judges.reading_models import ReadingModel, read_by_model
from hqm.labels.people_labels import STAGE, Labels, judge_units, labelled_units, stored_labels
from hqm.respondents.base import Request, Respondent
from hqm.respondents.kinds import is_recorded
from hqm.respondents.server_limits import CHARACTERS_A_TOKEN, PICTURE_TOKENS, Budget, price
from hqm.store.database import Store
from hqm.types import CLOSED_TASKS, ORIGINAL, Form, Judgement, Response, names_of

_Judging = TypeVar("_Judging", bound=Judging)


class JudgedSession(Protocol):
    """What the judges need of a session; `hqm.commands.session.Session` has it."""

    store: Store
    options: RunOptions
    asks: Asks
    answers: Answers
    budget: Budget
    benchmarks: list[Benchmark]
    full_benchmarks: dict[str, Benchmark]
    forms: SessionForms
    respondents: SessionRespondents

    def stored_respondents(self, benchmark: Benchmark) -> list[StoredRespondent]:
        """Return the respondents of the command as the store knows them."""


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """What a judge will be asked about answers that are not there yet."""

    judge: str
    benchmark: str
    stages: tuple[str, ...]
    """The roles of the procedure, in their order."""
    askings: int
    """Questions of the first stage; a later one asks about its replies."""
    tokens_in: int
    tokens_out: int
    """At most."""
    cost: float | None
    """At most, of the first stage; None where the judge has no price."""


@dataclass(frozen=True, slots=True)
class AnswersToCome:
    """The answers to a benchmark that are not there yet, counted in whole original forms."""

    n_all_forms: float = 0.0
    """Those of all administrations."""
    n_references: float = 0.0
    """Those of the original form in its first run."""


def plan_requests(
    judging: Judging,
    requests: Sequence[Request],
    n_repeats: float,
    prices: tuple[float, float] | None,
) -> JudgePlan:
    """Return what requests to a judge take and cost, each of them made so many times."""
    # No tokenizer is loaded for a plan: a usual number of characters stands for a token.
    tokens_read = sum(len(request.prompt) for request in requests) // CHARACTERS_A_TOKEN
    tokens_read += PICTURE_TOKENS * sum(request.image is not None for request in requests)
    # Replies are counted at their full length, so that the plan is an upper bound.
    tokens_written = sum(request.sampling.max_tokens for request in requests)
    prices = prices or prices_of(judging.panel.main)
    cost = None
    if prices is not None:
        cost = price(n_repeats * tokens_read, n_repeats * tokens_written, prices)
    return JudgePlan(
        judging.panel.label,
        judging.benchmark.name,
        tuple(judging.benchmark.roles),
        round(n_repeats * len(requests)),
        round(n_repeats * tokens_read),
        round(n_repeats * tokens_written),
        cost,
    )


_EXPECTED_WORDS = 60
"""Words of an answer that is not there yet, where it is no word or letter."""


def _expected_answers(benchmark: Benchmark) -> list[Response]:
    """Return answers of the usual length, no two of which are equal unless a word answers."""
    # Equal answers to a question are judged once: a number behind each makes a question of it.
    words = "word " * (_EXPECTED_WORDS - 1)
    return [
        Response("Yes" if item.task in CLOSED_TASKS else f"{words}{number}.")
        for number, item in enumerate(benchmark.original.items)
    ]


BY_RULE = "rule"
"""The mode of a judged benchmark in which no judge is asked."""


def _no_judge(benchmark: Benchmark) -> UsageError:
    if BY_RULE in benchmark.modes:
        rule = " Its own rule scores without one: --set mode=rule."
    else:
        rule = ""
    return UsageError(
        f"the answers to {benchmark.name} are judged by a model, and none is named",
        remedy=(
            "Name it with --judge, for example --judge openai/<model>, or bring judgements"
            f" with --judgements.{rule}"
        ),
    )


class SessionJudges:
    """The judges of a session: panels of models to ask, and judges whose judgements files have.

    Files are read, and judges made, once a session.
    """

    def __init__(self, session: JudgedSession) -> None:
        self.session = session
        self.imported: dict[str, ImportedJudgements] = {}
        """Benchmark -> what the files of judgements gave."""
        self._file_judges: dict[str, list[FileJudge]] = {}
        self._reading_models: dict[str, ReadingModel] = {}

    def judges(self, benchmark: Benchmark) -> list[Judge]:
        """Return the judges of a benchmark: the panels to ask, then the judges read from files.

        Raises
        ------
        UsageError
            The benchmark is judged by a model, and there is no judge; or a judge is asked and
            brought under one name.
        """
        from_files = self._labelled_file_judges(benchmark)
        panels = self.panels(benchmark)
        if (
            benchmark.roles
            and not panels
            and not from_files
            and not self._has_people_scores(benchmark)
        ):
            raise _no_judge(benchmark)
        for panel in panels:
            # Two judges of one name would share a cell of the store, and their verdicts be mixed.
            if panel.label in from_files:
                raise UsageError(
                    f"the judge {panel.label!r} is asked, and judgements of it are brought",
                    remedy="Name the judgements' judge otherwise: --judgements NAME=FILE.",
                )
        labels = [judge for judge in self.session.options.judging.judges if judge in from_files]
        # All of the files' judges, unless some are named.
        return [*panels, *(from_files[label] for label in labels or from_files)]

    @property
    def has_judge(self) -> bool:
        """Whether the options name a judge, or bring judgements or labels."""
        judging = self.session.options.judging
        return bool(judging.judges or judging.judgements or judging.criterion)

    def is_missing(self, benchmark: Benchmark) -> bool:
        """Whether only a judge can score the answers, and neither the options nor the store have
        any.
        """
        return bool(
            benchmark.roles and not self.has_judge and not self.session.store.judged(benchmark.name)
        )

    def refuse_unjudged(self) -> None:
        """Refuse benchmarks whose answers nothing judges, before files are read and models asked.

        Raises
        ------
        UsageError
            The answers to one of several benchmarks are judged by a model, and none is named.
        """
        benchmarks = self.session.benchmarks
        unjudged = list(filter(self.is_missing, benchmarks))
        # Of one benchmark the refusal comes from `judges`, which also counts people's labels.
        if len(benchmarks) > 1 and unjudged:
            raise _no_judge(unjudged[0])

    def _has_people_scores(self, benchmark: Benchmark) -> bool:
        """Return whether people's labels can be the scores of a benchmark that no model judged."""
        # An adapter shows by its verdict on one label whether labels can be scores.
        probe = Judgement(HUMAN, benchmark.original.items[0].id, "", 1.0)
        if benchmark.verdict_of_people(benchmark.original.items[0], probe) is None:
            return False
        if self.session.options.judging.criterion is not None:
            return True
        judged = self.session.store.judged(benchmark.name)
        return any(labelled_by(judge) == "people" for judge, *_ in judged)

    def panels(self, benchmark: Benchmark) -> list[Judging]:
        """Return the panels of models to ask; none for a benchmark that a rule scores."""
        options = self.session.options.judging
        reading_model = self.reading_model(benchmark)
        if reading_model is not None:
            return [reading_model]
        live_names = self.live_names(benchmark)
        # A benchmark made from a log has no procedure to ask a judge by: judgements in files alone
        # score it.
        if not benchmark.roles or not live_names or benchmark.included_recordings:
            return []
        role_respondents: dict[str, Respondent] = {}
        for role, name in parse_roles(options.roles).items():
            respondent = self.live_judge(name)  # one whose name means nothing is refused here
            if role in benchmark.roles:
                role_respondents[role] = respondent
        judgings = []
        for name in live_names:
            panel = Panel(self.live_judge(name), role_respondents)
            judgings.append(self._judging(Judging, benchmark, panel))
        return judgings

    def _judging(self, kind: type[_Judging], benchmark: Benchmark, panel: Panel) -> _Judging:
        session = self.session
        return kind(
            session.asks,
            benchmark,
            panel,
            budget=session.budget,
            retry_errors=session.options.asking.retry_errors,
        )

    def _labelled_file_judges(self, benchmark: Benchmark) -> dict[str, FileJudge]:
        """Label -> the judge whose judgements came in files."""
        return {judge.label: judge for judge in self.file_judges(benchmark)}

    def live_names(self, benchmark: Benchmark) -> list[str]:
        """Return the judges that the options name and no file brings."""
        from_files = self._labelled_file_judges(benchmark)
        judges = self.session.options.judging.judges
        return [judge for judge in judges if judge not in from_files]

    def reading_model(self, benchmark: Benchmark) -> ReadingModel | None:
        """Return the model that reads what the reader of a benchmark leaves unread; signatures of
        the benchmark name it from then on.
        """
        name = self.session.options.reading.read_with
        # the scores of a tool leave nothing unread
        if name is None or not benchmark.reads or benchmark.tool_scored:
            return None
        if benchmark.name not in self._reading_models:
            panel = Panel(self.live_judge(name))
            model = self._judging(ReadingModel, read_by_model(benchmark), panel)
            self._reading_models[benchmark.name] = model
        benchmark.read_with = self._reading_models[benchmark.name].version
        return self._reading_models[benchmark.name]

    def file_judges(self, benchmark: Benchmark) -> list[FileJudge]:
        """Return the judges whose judgements came in files: those named now, and those in the
        store.
        """
        if benchmark.name not in self._file_judges:
            # a dry run writes nothing into the store
            if self.session.options.judging.judgements and not self.session.options.output.dry_run:
                imported = self.read_judgements(benchmark)
                self.imported[benchmark.name] = imported
                sets = store_judgements(self.session.store, benchmark, imported.sets)
            else:
                sets = stored_judgements(self.session.store, benchmark)
            self._file_judges[benchmark.name] = file_judges(benchmark, sets)
        return self._file_judges[benchmark.name]

    def read_judgements(
        self, benchmark: Benchmark, names: Sequence[str] | None = None
    ) -> ImportedJudgements:
        """Read the files of judgements. Give `names` while there are no stored answers to match."""
        full_benchmark = self.session.full_benchmarks[benchmark.name]
        forms = forms_held(
            self.session.store, full_benchmark, self.session.forms.from_files(benchmark)
        )
        if names is not None:
            respondents = []
        else:
            respondents = self.session.stored_respondents(benchmark)
        if names is None:
            names = names_of(respondents)
        # A judgement that carries its answer is compared with the stored words, and refused for
        # others.
        texts = AnswerTexts(self.session.answers, full_benchmark, forms, respondents)
        sources = list(map(JudgementSource.parse, self.session.options.judging.judgements))
        return import_judgements(
            full_benchmark,
            forms,
            sources,
            names,
            texts,
            partial=self.session.respondents.logs.partial,
        )

    def live_judge(self, name: str) -> Respondent:
        if is_recorded(name):
            raise UsageError(
                "a file cannot judge",
                location=name,
                remedy="Score its replies with `hqm score NAME --answers FILE --judgements FILE`.",
            )
        return self.session.respondents.live(name)

    def ask(self, progress: Progress | None = None, stop: Stop = never_stop) -> Outcome:
        """Ask the judges about every stored answer, and about the reference as often as `rejudge`
        says.
        """
        outcomes: list[Outcome] = []
        active: Judging | None = None
        try:
            for judging, ask in self._judging_tasks(progress, stop):
                if active is not None and active.label != judging.label:
                    active.close()  # two models may not have room beside each other
                active = judging
                outcomes.append(ask())
        finally:
            if active is not None:
                active.close()
        return sum_outcomes(outcomes)

    def _judging_tasks(
        self, progress: Progress | None, stop: Stop
    ) -> Iterator[tuple[Judging, Callable[[], Outcome]]]:
        """Yield each panel with a function that asks it and leaves it open."""
        for benchmark in self.session.benchmarks:
            judges = self.panels(benchmark)
            if not judges:
                continue
            respondents = self.session.stored_respondents(benchmark)
            for judging, form, rows, asking in self._administrations(
                benchmark, judges, respondents
            ):
                yield judging, partial(judging.judge, form, rows, asking, progress, stop)
            units = self._labelled_units(benchmark, respondents)
            if units:
                for judging in judges:
                    yield judging, partial(judging.decide, units, progress, stop)

    def _administrations(
        self,
        benchmark: Benchmark,
        judges: Sequence[Judging],
        respondents: Sequence[StoredRespondent],
    ) -> Iterator[tuple[Judging, Form, Rows, int]]:
        """Yield each judge with the form and the answers of an administration, and its asking."""
        forms = forms_held(self.session.store, benchmark, self.session.forms.from_files(benchmark))
        for cell in cells_in(self.session.asks, benchmark, list(forms.values()), respondents):
            form = forms[cell.form]
            # Answers to smaller pictures lie under other questions in the store.
            rows = self.session.answers.with_resolution(cell.resolution).by_respondent(
                benchmark, form, respondents, cell.run
            )
            # Other judges are compared with it on the reference alone: elsewhere two facets
            # would differ.
            # The first judge is asked of every administration; the others, and repetitions, of
            # the reference alone.
            askings = [(judges[0], 0)]
            if cell.form == ORIGINAL and cell.run == 0 and not cell.resolution:
                repetitions = range(self.session.options.judging.rejudge)
                askings = [(judges[0], repetition) for repetition in repetitions]
                askings += [(judge, 0) for judge in judges[1:]]
            for judging, asking in askings:
                yield judging, form, rows, asking

    def _labelled_units(
        self, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
    ) -> list[Unit]:
        """Return the units that people labelled, about which `levels=stage` asks each stage."""
        if STAGE not in self.session.options.judging.levels or not benchmark.stages:
            return []
        form = benchmark.original
        path = self.session.options.judging.criterion
        if path is None:
            labels = stored_labels(self.session.store, benchmark, form, 0)
        else:
            names = names_of(respondents)
            labels = Labels(tuple(benchmark.read_criterion(path, form, names)))
        answers = self.session.answers.by_answer(benchmark, form, respondents, 0)
        return judge_units(labelled_units(benchmark, form, labels), answers)

    def plan(self, awaited_answers: Mapping[str, AnswersToCome]) -> list[JudgePlan]:
        """Return what the judges will be asked about answers that are not there yet.

        The first stage is asked about answers of the usual length, to count its questions and
        their words; a model that reads what the reader does not, about all of them, for how many
        those are is not known before.

        Parameters
        ----------
        awaited_answers
            Benchmark -> the answers that are still to come.
        """
        plans: list[JudgePlan] = []
        options = self.session.options
        prices = options.compute.prices
        has_models = options.judging.judges or options.reading.read_with
        for benchmark in self.session.benchmarks if has_models else ():
            answers = awaited_answers.get(benchmark.name, AnswersToCome())
            row = _expected_answers(benchmark)
            for number, panel in enumerate(self.panels(benchmark)):
                requests = panel.first_requests(benchmark.original, row)
                # As in `_administrations`: the first judge alone is asked of all, and judges again.
                n_forms = answers.n_references
                if number == 0:
                    n_forms = answers.n_all_forms + (options.judging.rejudge - 1) * n_forms
                plan = plan_requests(panel, requests, n_forms, prices)
                if plan.askings:
                    plans.append(plan)
        return plans

    def pending(self) -> dict[str, int]:
        """Return judge -> number of questions about stored answers that still lack a reply."""
        pending: Counter[str] = Counter()
        options = self.session.options
        has_judges = bool(options.judging.judges or options.reading.read_with)
        for benchmark in self.session.benchmarks if has_judges else ():
            judges = self.panels(benchmark)
            respondents = self.session.stored_respondents(benchmark)
            # one for all administrations, since equal questions about two of them are asked once
            askings: dict[tuple[str, int], Asking] = {}
            for judging in judges:
                asking = askings[judging.panel.label, 0] = judging.asking(0, retry=True)
                judging.find_undecided(asking, self._labelled_units(benchmark, respondents))
            for judging, form, rows, number in self._administrations(
                benchmark, judges, respondents
            ):
                label = (judging.panel.label, number)
                if label not in askings:
                    askings[label] = judging.asking(number, retry=True)
                judging.find_missing(askings[label], form, rows)
            for (judge, _), asking in askings.items():
                pending[judge] += len(asking.missing)
        return pending
