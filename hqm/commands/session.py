"""A session: the benchmarks, respondents and store of one command.

It stands in one module because its parts share what they have read: files are read, and judges
made, once a command.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hqm.administration.administering import Outcome, added
from hqm.administration.asks import (
    Administration,
    Asks,
    Assignment,
    Job,
    StoredRespondent,
    assign,
    plan_job,
)
from hqm.administration.costs import Bound, Forecast, bounds, forecast, prices_of
from hqm.administration.engines import Engine, Stop, get_ready, layouts_of, make_engine, never
from hqm.administration.engines.placement import Layout
from hqm.administration.stored_answers import (
    Answers,
    cells_in,
    forms_held,
    forms_of,
    respondents_in,
    respondents_of,
)
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.evidence import Evidence, gather
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.corrected_keys import CorrectedKey, read_key
from hqm.benchmark.items import cut
from hqm.benchmark.registry import load_all
from hqm.commands.options import Asking, RunOptions
from hqm.commands.options import Judging as JudgingOptions
from hqm.commands.record import record_of, study_costs
from hqm.errors import UsageError, check_known
from hqm.forms.make_forms import read_form
from hqm.imports.human_labels import HUMAN, labelled_by
from hqm.imports.log_answers import (
    LogSettings,
    Recording,
    Taken,
    perfect_respondents,
    read_recorded,
)
from hqm.indicators.flags import length_confound
from hqm.judges.file_judge import FileJudge, Judge, judges_of, keep, stored
from hqm.judges.judge_models import Judging, Progress
from hqm.judges.judgements import AnswerTexts, JudgementSource, TakenJudgements, take_judgements
from hqm.judges.procedure import Panel, Unit, parse_roles
from hqm.labels.people_labels import (
    LEVELS,
    POOLS,
    STAGE,
    STALES,
    Labels,
    labelled_units,
    stored_labels,
    units_asked,
)
from hqm.respondents import make_respondent
from hqm.respondents.base import RecordedRespondent, Respondent, RespondentName
from hqm.respondents.kinds import kind_of, read_families
from hqm.respondents.server_limits import Budget
from hqm.store.database import Store
from hqm.types import ORIGINAL, REWORDINGS, Form, Judgement


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run would cost: the numbers that `hqm audit --dry-run` prints."""

    forecasts: Mapping[tuple[str, str], Forecast]
    """(respondent, benchmark) -> requests, seconds, tokens and cost."""
    layouts: Sequence[Layout]
    """Where the models stand that run here, or on the machines of a cluster."""
    images: Mapping[str, tuple[int, int]]
    """Benchmark -> (pictures that are missing, pictures in all)."""
    judging: Mapping[str, int]
    """Judge -> number of questions about the answers stored so far."""
    bounds: Sequence[Bound]
    """The bounds that the options set, each with what the run needs."""
    refused: int
    """Number of questions that a server refused for good; they are not asked again."""


class Session:
    """The benchmarks, respondents and store of one command, loaded from their names.

    Parameters
    ----------
    names
        Benchmarks, as `hqm audit` takes them.
    store
        Where the answers are, and go.
    options
        The options of the command.
    offline
        Whether nobody is asked: then all that the store holds is meant where no respondent is
        named, and not the benchmark's own respondents.

    Raises
    ------
    UsageError
        A name or option means nothing, or there is no respondent to answer.
    """

    def __init__(
        self,
        names: Sequence[str | Benchmark],
        store: Store,
        options: RunOptions,
        *,
        offline: bool = False,
    ) -> None:
        self.store = store
        self.options = options
        self.offline = offline
        _check_together(options.asking)
        self.asks = Asks(store, blind=options.asking.blind)
        self.answers = Answers(self.asks)
        self.budget = Budget(
            options.asking.max_requests,
            options.asking.max_tokens_total,
            options.asking.max_cost,
            prices=options.compute.prices,
        )

        # the benchmarks; a corrected key is read against the whole one, before a part is cut out
        self.benchmarks: list[Benchmark] = []
        for name in names:
            if isinstance(name, Benchmark):
                self.benchmarks.append(name)
            else:
                self.benchmarks += load_all(name, **options.loading)
        times = Counter(benchmark.name for benchmark in self.benchmarks)
        repeated = sorted(name for name, count in times.items() if count > 1)
        if repeated:
            raise UsageError(
                f"{', '.join(repeated)} is named twice", remedy="Name every benchmark once."
            )
        self.keys = self._keys()
        self._whole = {benchmark.name: benchmark for benchmark in map(copy.copy, self.benchmarks)}
        for benchmark in self.benchmarks:
            if options.what.part or options.what.limit:
                benchmark.original = cut(
                    benchmark.original, benchmark.name, options.what.part, options.what.limit
                )

        # what is read or made once, by the name of the benchmark, or of the respondent
        self._respondents: dict[str, list[Respondent]] = {}
        self._made: dict[str, Respondent] = {}
        self._from_files: dict[str, list[Form]] = {}
        self._label_files: dict[str, list[str]] = {}
        self._file_judges: dict[str, list[FileJudge]] = {}
        self._costs: dict[str, dict[str, Any]] = {}

        # what came from files, for those who print or store it
        self.logs = LogSettings(partial=options.who.partial)
        self.notes: list[str] = []
        """Sentences for the user about the files that were read."""
        self.taken: dict[str, Taken] = {}
        """Benchmark -> the answers taken from logs of other tools."""
        self.judged: dict[str, TakenJudgements] = {}
        """Benchmark -> what the files of judgements gave."""

    def _keys(self) -> dict[str, CorrectedKey]:
        """The corrected key, read against the whole benchmark."""
        path = self.options.reading.key
        if path is None:
            return {}
        if len(self.benchmarks) != 1:
            raise UsageError(
                "a corrected key belongs to one benchmark",
                remedy="Name that benchmark alone with --key.",
            )
        return {self.benchmarks[0].name: read_key(path, self.benchmarks[0])}

    # --- who ---

    def respondents(self, benchmark: Benchmark) -> list[Respondent]:
        """Return the respondents of a benchmark: those named, else the embedded ones."""
        if benchmark.name not in self._respondents:
            who = self.options.who
            live = [name for name in who.respondents if not _is_recorded(name)]
            recorded = [name for name in who.respondents if _is_recorded(name)]
            paths = [Path(RespondentName.parse(name).target) for name in recorded]
            paths += who.recorded
            if not live and not paths:
                live = list(benchmark.card.respondents.embedded)
            respondents: list[Respondent] = []
            # a benchmark that was made from a log brings the answers of the log
            if paths or benchmark.brought:
                respondents += self._recorded(benchmark, paths)
            respondents += [self._live(name) for name in live]
            self._respondents[benchmark.name] = respondents
        return self._respondents[benchmark.name]

    def _live(self, name: str) -> Respondent:
        # one object a name, so that a model is loaded once for all benchmarks
        if name not in self._made:
            compute = self.options.compute
            self._made[name] = make_respondent(
                name,
                device=compute.device,
                dtype=compute.dtype,
                batch=compute.batch,
                vllm=compute.vllm,
                concurrency=compute.concurrency,
            )
            self._check_price(self._made[name])
        return self._made[name]

    def _check_price(self, respondent: Respondent) -> None:
        """Refuse `--max-cost` if the price of a respondent is not known."""
        kind = kind_of(respondent.name.partition("/")[0])
        priced = self.budget.prices or prices_of(respondent)
        if (
            self.budget.max_cost is not None
            and kind is not None
            and kind.price == "per token"
            and priced is None
        ):
            raise UsageError(
                "its price is not known, and --max-cost bounds the cost",
                location=respondent.name,
                remedy=(
                    "Write ?price_in=MONEY&price_out=MONEY behind its name, or set price_in and"
                    " price_out."
                ),
            )

    def _recorded(self, benchmark: Benchmark, paths: Sequence[Path]) -> list[Respondent]:
        """Read recorded answers, and leave out of the benchmark the parts that nobody answered."""
        forms = {form.name: form for form in self.forms(benchmark)}

        # a file is matched to the whole benchmark, and cut afterwards: otherwise its rows about
        # other parts would be unmatched
        whole = forms
        is_cut = bool(self.options.what.part or self.options.what.limit)
        if is_cut:
            whole = {form.name: form for form in self.forms(self._whole[benchmark.name])}
        recorded = read_recorded(benchmark, paths, whole, self.logs)
        recordings = [*benchmark.brought, *recorded.recordings]
        if is_cut:
            inside = [_only(recording, forms[recording.form]) for recording in recordings]
            recordings = [recording for recording in inside if recording.answers]

        # a part of which nobody answered anything was not administered; within the others, what was
        # not answered is missing
        answered = {key for recording in recordings for key in recording.answers}
        parts = {item.part for item in benchmark.original.items if item.id in answered}
        administered = tuple(item for item in benchmark.original.items if item.part in parts)
        benchmark.original = replace(benchmark.original, items=administered)

        # what the user is told of the files
        if paths:
            taken = recorded.only({**forms, ORIGINAL: benchmark.original})
            self.taken[benchmark.name] = taken
            self.notes += taken.other_keys
        self.notes += perfect_respondents(benchmark.original, recordings)

        by_name: dict[str, list[Recording]] = {}
        for recording in recordings:
            by_name.setdefault(recording.respondent, []).append(recording)
        return [
            RecordedRespondent(f"recorded/{name}", of_name) for name, of_name in by_name.items()
        ]

    # --- who judges ---

    def judges(self, benchmark: Benchmark) -> list[Judge]:
        """Return the judges of a benchmark: the panels to ask, then the judges read from files.

        Raises
        ------
        UsageError
            The benchmark is judged by a model, and there is no judge; or a judge is asked and
            brought under one name.
        """
        from_files = {judge.label: judge for judge in self.file_judges(benchmark)}
        panels = self.panels(benchmark)
        if (
            benchmark.roles
            and not panels
            and not from_files
            and not self._people_stand_in(benchmark)
        ):
            raise UsageError(
                f"the answers to {benchmark.name} are judged by a model, and none is named",
                remedy=(
                    "Name it with --judge, for example --judge openai/<model>, or bring judgements"
                    " with --judgements."
                ),
            )
        twice = [panel.label for panel in panels if panel.label in from_files]
        if twice:
            raise UsageError(
                f"the judge {twice[0]!r} is asked, and judgements of it are brought",
                remedy="Name the judgements' judge otherwise: --judgements NAME=FILE.",
            )
        named = [name for name in self.options.judging.judges if name in from_files]
        # all of the files' judges, unless some are named
        return [*panels, *(from_files[name] for name in named or from_files)]

    def _people_stand_in(self, benchmark: Benchmark) -> bool:
        """Return whether people's labels can be the scores of a benchmark that no model judged."""
        probe = Judgement(HUMAN, benchmark.original.items[0].id, "", 1.0)
        if benchmark.verdict_of_people(benchmark.original.items[0], probe) is None:
            return False
        if self.options.judging.criterion is not None:
            return True
        judges = (judge for judge, _, _ in self.store.judged(benchmark.name))
        return any(labelled_by(judge) == "people" for judge in judges)

    def panels(self, benchmark: Benchmark) -> list[Judging]:
        """Return the panels of models to ask; none for a benchmark that a rule scores."""
        options = self.options.judging
        from_files = {judge.label for judge in self.file_judges(benchmark)}
        asked = [name for name in options.judges if name not in from_files]
        if not benchmark.roles or not asked or benchmark.brought:
            return []
        others = {role: self._judge(name) for role, name in parse_roles(options.roles).items()}
        used = {role: respondent for role, respondent in others.items() if role in benchmark.roles}
        return [
            Judging(
                self.asks,
                benchmark,
                Panel(self._judge(name), used),
                budget=self.budget,
                retry_errors=self.options.asking.retry_errors,
            )
            for name in asked
        ]

    def check(self) -> None:
        """Refuse names that mean nothing, and files that do not fit, before anybody is asked."""
        judging = self.options.judging
        _how_labels_are_used(judging)
        for benchmark in self.benchmarks:
            for metric in self.options.reading.metrics:
                benchmark.metric(metric)
            names: list[str] | None = None
            if not self.offline:
                self.forms(benchmark)
                names = [who.name for who in self.respondents(benchmark)]
            if judging.judgements:
                self._take_judgements(benchmark, names)
            else:
                stored_judges = {judge.label for judge in self.file_judges(benchmark)}
                for name in judging.judges:
                    if name not in stored_judges:
                        self._judge(name)
            if judging.criterion is not None:
                benchmark.read_criterion(judging.criterion, benchmark.original, names or None)

    def file_judges(self, benchmark: Benchmark) -> list[FileJudge]:
        """Return the judges whose judgements came in files: those named now, and those in the
        store.
        """
        if benchmark.name not in self._file_judges:
            if self.options.judging.judgements and not self.options.output.dry_run:
                taken = self._take_judgements(benchmark)
                self.judged[benchmark.name] = taken
                sets = keep(self.store, benchmark, taken.sets)
            else:
                sets = stored(self.store, benchmark)
            self._file_judges[benchmark.name] = judges_of(benchmark, sets)
        return self._file_judges[benchmark.name]

    def _take_judgements(
        self, benchmark: Benchmark, names: Sequence[str] | None = None
    ) -> TakenJudgements:
        """Read the files of judgements. Give `names` while there are no stored answers to match."""
        whole = self._whole[benchmark.name]
        forms = forms_held(self.store, whole, self.forms_from_files(benchmark))
        respondents = [] if names is not None else self.stored_respondents(benchmark)
        if names is None:
            names = [respondent.name for respondent in respondents]
        texts = AnswerTexts(self.answers, whole, forms, respondents)
        sources = [JudgementSource.parse(text) for text in self.options.judging.judgements]
        return take_judgements(whole, forms, sources, names, texts, partial=self.logs.partial)

    def _judge(self, name: str) -> Respondent:
        if _is_recorded(name):
            raise UsageError(
                "a file cannot judge",
                location=name,
                remedy="Score its replies with `hqm score NAME --answers FILE --judgements FILE`.",
            )
        return self._live(name)

    def judge(self, progress: Progress | None = None, stop: Stop = never) -> Outcome:
        """Ask the judges about every stored answer, and about the reference as often as `rejudge`
        says.
        """
        outcomes: list[Outcome] = []
        at_work: Judging | None = None
        try:
            for judging, put in self._judgings(progress, stop):
                if at_work is not None and at_work.label != judging.label:
                    at_work.close()  # two models may not have room beside each other
                at_work = judging
                outcomes.append(put())
        finally:
            if at_work is not None:
                at_work.close()
        return added(outcomes)

    def _judgings(
        self, progress: Progress | None, stop: Stop
    ) -> Iterator[tuple[Judging, Callable[[], Outcome]]]:
        """Yield each panel with a function that asks it and leaves it open."""
        for benchmark in self.benchmarks:
            judges = self.panels(benchmark)
            if not judges:
                continue
            respondents = self.stored_respondents(benchmark)
            forms = forms_held(self.store, benchmark, self.forms_from_files(benchmark))
            for cell in cells_in(self.asks, benchmark, list(forms.values()), respondents):
                form = forms[cell.form]
                rows = self.answers.at(cell.resolution).by_respondent(
                    benchmark, form, respondents, cell.run
                )
                # the first judge is asked of every administration; the others, and repetitions,
                # of the reference alone
                askings = [(judges[0], 0)]
                if cell.form == ORIGINAL and cell.run == 0 and not cell.resolution:
                    askings = [(judges[0], n) for n in range(self.options.judging.rejudge)]
                    askings += [(judging, 0) for judging in judges[1:]]
                for judging, asking in askings:
                    yield judging, partial(judging.judge, form, rows, asking, progress, stop)
            units = self._labelled_units(benchmark, respondents)
            if units:
                for judging in judges:
                    yield judging, partial(judging.decide, units, progress, stop)

    def _labelled_units(
        self, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
    ) -> list[Unit]:
        """Return the units that people labelled, about which `levels=stage` asks each stage."""
        if STAGE not in self.options.judging.levels or not benchmark.stages:
            return []
        form = benchmark.original
        path = self.options.judging.criterion
        if path is None:
            labels = stored_labels(self.store, benchmark, form, 0)
        else:
            names = [respondent.name for respondent in respondents]
            labels = Labels(tuple(benchmark.read_criterion(path, form, names)))
        answers = self.answers.by_answer(benchmark, form, respondents, 0)
        return units_asked(labelled_units(benchmark, form, labels), answers)

    def pending_judgements(self) -> dict[str, int]:
        """Return judge -> number of questions about stored answers that still lack a reply."""
        pending: dict[str, int] = {}
        for benchmark in self.benchmarks if self.options.judging.judges else ():
            for judging in self.panels(benchmark):
                respondents = self.stored_respondents(benchmark)
                rows = self.answers.by_respondent(benchmark, benchmark.original, respondents, 0)
                units = self._labelled_units(benchmark, respondents)
                count = judging.pending(benchmark.original, rows, units)
                pending[judging.panel.label] = pending.get(judging.panel.label, 0) + count
        return pending

    # --- what ---

    def forms_from_files(self, benchmark: Benchmark) -> list[Form]:
        """The forms that the options name as files."""
        if benchmark.name not in self._from_files:
            files = self.options.what.form_files.items()
            self._from_files[benchmark.name] = [
                read_form(path, benchmark.original, name) for name, path in files
            ]
        return self._from_files[benchmark.name]

    @property
    def _only_recorded(self) -> bool:
        who = self.options.who
        return bool(who.recorded) and all(map(_is_recorded, who.respondents))

    def forms(self, benchmark: Benchmark) -> list[Form]:
        """Return the forms that the options name, in their order."""
        named = self.options.what.form_names(benchmark.card.task)
        wanted = list(dict.fromkeys([*named, *self.options.what.form_files]))
        if benchmark.brought:
            put = {recording.form for recording in benchmark.brought}
            wanted = [ORIGINAL, *sorted(put - {ORIGINAL})]
        forms = forms_of(benchmark, self.forms_from_files(benchmark), rewordings=wanted)
        every = {form.name: form for form in forms}
        unknown = [name for name in wanted if name not in every]
        if unknown:
            known = ", ".join(dict.fromkeys([ORIGINAL, *REWORDINGS, *every]))
            raise UsageError(
                f"{benchmark.name} has no form {unknown[0]!r}",
                remedy=f"It has {known}; bring one with --form.",
                name=unknown[0],
                choices=every,
            )
        if self._only_recorded and self.options.what.forms == RunOptions().what.forms:
            # nobody asked for the parallel form by name, and nobody is going to be put it
            wanted = [name for name in wanted if every[name].items or not every[name].left_out]
        for name in wanted:
            if not every[name].items and every[name].left_out:
                reason = every[name].left_out[0].reason
                raise UsageError(
                    f"no item of {benchmark.name} has a wording {name!r}; the first: {reason}",
                    remedy=f"Ask with --forms {ORIGINAL}, or bring it with --form {name}=FILE.",
                )
        return [every[name] for name in wanted]

    def administrations(self, benchmark: Benchmark, respondent: Respondent) -> list[Administration]:
        """Return what a respondent is asked: the original form in every run, the other forms once.
        A recorded respondent has what was recorded.
        """
        forms = self.forms(benchmark)
        if isinstance(respondent, RecordedRespondent):
            recorded = set(respondent.cells)
            # whole pictures before scaled ones, as the live respondents have them
            runs = sorted({cell[1:] for cell in recorded}, key=lambda at: (bool(at[1]), at))
            return [
                Administration(form, *at)
                for form in forms
                for at in runs
                if (form.name, *at) in recorded
            ]
        administrations: list[Administration] = []
        scaled: list[Administration] = []
        for form in forms:
            if form.name != ORIGINAL:
                administrations.append(Administration(form, 0))
                continue
            times = self.options.asking.times
            administrations += [Administration(form, run) for run in range(times)]
            scales = self.options.asking.resolutions
            scaled += [Administration(form, 0, scale) for scale in scales]
        return administrations + scaled

    def jobs(self) -> list[Job]:
        """Everything to be asked, respondent by respondent."""
        for benchmark in self.benchmarks:
            self.check_respondents(benchmark)
        asking = self.options.asking
        wanted: dict[str, Any] = {
            "probabilities": asking.probabilities or asking.expected,
            "retry_errors": asking.retry_errors,
        }
        return [
            plan_job(self.asks, assignment, administration, **wanted)
            for benchmark in self.benchmarks
            for assignment in self.assignments(benchmark)
            for administration in self.administrations(benchmark, assignment.respondent)
        ]

    def plan(self) -> Plan:
        """Add up what a run would cost, and ask nothing."""
        # the questions to each respondent, benchmark by benchmark
        jobs = self.jobs()
        by_respondent: dict[tuple[str, str], list[Job]] = {}
        for job in jobs:
            key = (job.assignment.respondent.name, job.assignment.benchmark.name)
            by_respondent.setdefault(key, []).append(job)
        respondents = {key: own[0].assignment.respondent for key, own in by_respondent.items()}
        live = [key for key, respondent in respondents.items() if respondent.live]

        # where the models run, and what their answers take there
        layouts = layouts_of(list(respondents.values()), **self.options.compute.running)
        engines = {name: max(1, layout.engines) for name, layout in layouts.items()}
        prices = self.options.compute.prices
        forecasts = {
            key: forecast(self.store, own, prices, engines.get(key[0], 1))
            for key, own in by_respondent.items()
        }

        # the pictures that are missing; those that a benchmark makes are there when they are asked
        # about
        images = self.missing_images() if live and not self.options.asking.blind else {}
        for benchmark in self.benchmarks:
            if benchmark.makes_pictures:
                images.pop(benchmark.name, None)

        judging = self.pending_judgements()
        return Plan(
            forecasts=forecasts,
            layouts=list(layouts.values()),
            images=images,
            judging=judging,
            bounds=bounds(self.budget, [forecasts[key] for key in live], sum(judging.values())),
            refused=sum(job.refused for job in jobs),
        )

    def check_respondents(self, benchmark: Benchmark) -> None:
        """Prepare a benchmark's pictures, and refuse it if there is no respondent."""
        benchmark.prepare_images(benchmark.original)
        if not self.respondents(benchmark):
            raise UsageError(
                f"there is no respondent to answer {benchmark.name}",
                remedy="Name some (-r hf/MODEL, -r openai/MODEL@ADDRESS; --recorded ANSWERS).",
            )

    def assignments(self, benchmark: Benchmark) -> list[Assignment]:
        """Return the respondents of this command, each with the benchmark and its sampling."""
        sampling = self.options.asking.sampling
        return [
            assign(respondent, benchmark, sampling) for respondent in self.respondents(benchmark)
        ]

    def engine(self) -> Engine:
        """Who runs the requests, as the options say."""
        return make_engine(**self.options.compute.running)

    def get_ready(self) -> None:
        """Let workers import their libraries during the planning, if a respondent is new."""
        compute = self.options.compute
        if compute.engine == "local":
            each = [
                assignment
                for benchmark in self.benchmarks
                for assignment in self.assignments(benchmark)
            ]
            known = (self.store.find_respondent(a.respondent.name, a.identity()) for a in each)
            get_ready(
                [a.respondent for a, number in zip(each, known, strict=True) if number is None],
                workers=compute.workers,
            )

    def fetch_images(self) -> None:
        """Make or download the pictures that a live respondent will see."""
        for benchmark in self.benchmarks:
            if not self.options.asking.blind and any(r.live for r in self.respondents(benchmark)):
                benchmark.prepare_images(benchmark.original)
                names = [item.image for item in benchmark.original.items if item.image]
                benchmark.pictures.fetch(names, private=self.options.what.allow_private_images)

    def missing_images(self) -> dict[str, tuple[int, int]]:
        """Benchmark -> (pictures that are missing, pictures in all)."""
        missing = {}
        for benchmark in self.benchmarks:
            names = {item.image for item in benchmark.original.items if item.image}
            missing[benchmark.name] = (
                sum(not benchmark.pictures.has(name) for name in names),
                len(names),
            )
        return missing

    def stored_respondents(self, benchmark: Benchmark) -> list[StoredRespondent]:
        """Return the respondents of this command as the store knows them; all of them if none is
        named.
        """
        who = self.options.who
        if self.offline and not who.respondents and not who.recorded:
            return respondents_in(self.asks, benchmark)
        assignments = self.assignments(benchmark)
        if not assignments:
            return respondents_in(self.asks, benchmark)
        return respondents_of(self.store, assignments)

    def evidence(
        self,
        benchmark: Benchmark,
        respondents: Sequence[StoredRespondent] | None = None,
        *,
        asks: Asks | None = None,
        pictures: bool = True,
        recorded: bool = False,
    ) -> Evidence:
        """Gather what an audit of a benchmark looks at, from the store and the files."""
        options = self.options
        judges = [] if recorded else self.judges(benchmark)
        evidence = gather(
            benchmark,
            self.store,
            self.stored_respondents(benchmark) if respondents is None else respondents,
            asks=asks or self.asks,
            forms=self.forms_from_files(benchmark),
            criterion=options.judging.criterion,
            metrics=options.reading.metrics,
            judges=judges,
            families=read_families(options.who.families) if options.who.families else None,
            margin=options.reading.margin,
            pictures=pictures,
            recorded=recorded,
            **_how_labels_are_used(options.judging),
        )
        self._label_files[benchmark.name] = list(evidence.labels.files)
        self._costs[benchmark.name] = study_costs(
            self.store,
            evidence,
            self._respondents.get(benchmark.name, []),
            judges,
            options.compute.prices,
        )
        return evidence

    def by_corrected_key(self, benchmark: Benchmark) -> Evidence | None:
        """Gather the same answers scored by the corrected key; return None without such a key."""
        if benchmark.name not in self.keys:
            return None
        corrected = copy.copy(benchmark)
        corrected.original = self.keys[benchmark.name].applied(benchmark.original)
        return self.evidence(
            corrected,
            self.stored_respondents(benchmark),
            asks=Asks(self.store, blind=self.asks.blind),
        )

    def joined(self, audits: Sequence[BenchmarkAudit], command: str) -> Audit:
        """Join the audits of all benchmarks, add the record, and flag unequal lengths."""
        confounded = length_confound({audit.benchmark: audit.n_items for audit in audits})
        flagged = []
        for audit in audits:
            if audit.benchmark in confounded:
                flag = confounded[audit.benchmark].to_dict()
                audit = replace(audit, flags=(*audit.flags, flag))
            flagged.append(audit)
        record = record_of(self.options, self.benchmarks, self._label_files)
        return Audit(tuple(flagged), command, {**record, "costs": self._costs})


def _check_together(options: Asking) -> None:
    """Refuse options of asking that exclude each other."""
    if not options.resolutions:
        return
    if options.blind:
        other = "--blind shows no picture"
    elif options.until:
        other = "--until asks the original form alone"
    else:
        return
    raise UsageError(
        f"--resolution scales pictures, and {other}", remedy="Leave out one of the two."
    )


def _is_recorded(name: str) -> bool:
    """Return whether a respondent's name names a file of answers."""
    return name.startswith("recorded/")


def _how_labels_are_used(options: JudgingOptions) -> dict[str, Any]:
    """Return the arguments of `gather` that say how people's labels are pooled and correlated.

    Raises
    ------
    UsageError
        An option has a value that it does not know.
    """
    for name, value, known in (
        ("pool", options.pool or POOLS[0], POOLS),
        ("stale", options.stale, STALES),
        *(("levels", level, LEVELS) for level in options.levels),
    ):
        check_known(value, known, f"the setting {name} has no value {value!r}", "It has {}.")
    return {"pool": options.pool, "stale": options.stale, "levels": options.levels or ("model",)}


def _only(recording: Recording, form: Form) -> Recording:
    """Restrict a recording to the items of a form."""
    return replace(
        recording, answers={key: a for key, a in recording.answers.items() if key in form.by_id}
    )
