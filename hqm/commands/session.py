"""A session: the benchmarks, respondents and store of one command.

It stands in one module because its parts share what they have read: files are read, and judges
made, once a command.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from hqm.commands.options import Judging as JudgingOptions
from hqm.commands.options import RunOptions
from hqm.commands.record import record_of, study_costs
from hqm.errors import DesignError, UsageError
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
from hqm.judges.file_judge import BroughtJudge, Judge, judges_of, keep, stored
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

if TYPE_CHECKING:
    from hqm.decisions.stopping import StoppedRun


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
        self.store, self.options, self.offline = store, options, offline
        if options.asking.resolutions and (options.asking.blind or options.asking.until):
            other = (
                "--blind shows no picture"
                if options.asking.blind
                else "--until asks the original form alone"
            )
            raise UsageError(
                f"--resolution scales pictures, and {other}", remedy="Leave out one of the two."
            )
        self.asks = Asks(store, blind=options.asking.blind)
        self.answers = Answers(self.asks)
        self.budget = Budget(
            options.asking.max_requests,
            options.asking.max_tokens_total,
            options.asking.max_cost,
            prices=options.compute.prices,
        )
        self.benchmarks = [
            benchmark
            for name in names
            for benchmark in (
                [name] if isinstance(name, Benchmark) else load_all(name, **options.loading)
            )
        ]
        repeated = {
            b.name
            for b in self.benchmarks
            if sum(b.name == other.name for other in self.benchmarks) > 1
        }
        if repeated:
            raise UsageError(
                f"{', '.join(sorted(repeated))} is named twice", remedy="Name every benchmark once."
            )
        self.keys = self._keys()
        self._whole = {benchmark.name: benchmark for benchmark in map(copy.copy, self.benchmarks)}
        for benchmark in self.benchmarks:
            if options.what.part or options.what.limit:
                benchmark.original = cut(
                    benchmark.original, benchmark.name, options.what.part, options.what.limit
                )
        self._respondents: dict[str, list[Respondent]] = {}
        self._made: dict[str, Respondent] = {}
        self._from_files: dict[str, list[Form]] = {}
        self._label_files: dict[str, list[str]] = {}
        self._costs: dict[str, dict[str, Any]] = {}
        self.logs = LogSettings(partial=options.who.partial)
        self.notes: list[str] = []
        """Sentences for the user about the files that were read."""
        self.taken: dict[str, Taken] = {}
        """Benchmark -> the answers taken from logs of other tools."""
        self.judged: dict[str, TakenJudgements] = {}
        """Benchmark -> what the files of judgements gave."""
        self._brought: dict[str, list[BroughtJudge]] = {}

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
            names = list(self.options.who.respondents)
            recorded = [
                RespondentName.parse(name).target for name in names if name.startswith("recorded/")
            ]
            live = [name for name in names if not name.startswith("recorded/")]
            paths = [*map(Path, recorded), *self.options.who.recorded]
            if not names and not paths:
                live = list(benchmark.card.respondents.embedded)
            brought = bool(paths or benchmark.brought)
            respondents: list[Respondent] = self._recorded(benchmark, paths) if brought else []
            self._respondents[benchmark.name] = respondents + [self._live(name) for name in live]
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
                place=respondent.name,
                remedy=(
                    "Write ?price_in=MONEY&price_out=MONEY behind its name, or set price_in and"
                    " price_out."
                ),
            )

    def _recorded(self, benchmark: Benchmark, paths: Sequence[Path]) -> list[Respondent]:
        forms = {form.name: form for form in self.forms(benchmark)}
        cut = bool(self.options.what.part or self.options.what.limit)
        read = (
            {form.name: form for form in self.forms(self._whole[benchmark.name])} if cut else forms
        )
        recorded = read_recorded(benchmark, paths, read, self.logs)
        recordings = [*benchmark.brought, *recorded.recordings]
        if cut:
            recordings = [inside for r in recordings if (inside := _only(r, forms[r.form])).answers]
        # a part of which nobody answered anything was not administered; within the others, what was
        # not answered is missing
        answered = {key for recording in recordings for key in recording.answers}
        parts = {item.part for item in benchmark.original.items if item.id in answered}
        benchmark.original = replace(
            benchmark.original, items=tuple(i for i in benchmark.original.items if i.part in parts)
        )
        if paths:
            self.taken[benchmark.name] = taken = recorded.only(
                {**forms, ORIGINAL: benchmark.original}
            )
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
        brought = {judge.label: judge for judge in self.brought(benchmark)}
        named = [name for name in self.options.judging.judges if name in brought]
        panels = self.panels(benchmark)
        if benchmark.roles and not panels and not brought and not self._people_stand_in(benchmark):
            raise UsageError(
                f"the answers to {benchmark.name} are judged by a model, and none is named",
                remedy=(
                    "Name it with --judge, for example --judge openai/<model>, or bring judgements"
                    " with --judgements."
                ),
            )
        twice = [panel.label for panel in panels if panel.label in brought]
        if twice:
            raise UsageError(
                f"the judge {twice[0]!r} is asked, and judgements of it are brought",
                remedy="Name the judgements' judge otherwise: --judgements NAME=FILE.",
            )
        return [*panels, *([brought[name] for name in named] if named else brought.values())]

    def _people_stand_in(self, benchmark: Benchmark) -> bool:
        """Return whether people's labels can be the scores of a benchmark that no model judged."""
        probe = Judgement(HUMAN, benchmark.original.items[0].id, "", 1.0)
        if benchmark.verdict_of_people(benchmark.original.items[0], probe) is None:
            return False
        stored_labels = any(
            labelled_by(judge) == "people" for judge, _, _ in self.store.judged(benchmark.name)
        )
        return self.options.judging.criterion is not None or stored_labels

    def panels(self, benchmark: Benchmark) -> list[Judging]:
        """Return the panels of models to ask; none for a benchmark that a rule scores."""
        options = self.options.judging
        brought = {judge.label for judge in self.brought(benchmark)}
        asked = [name for name in options.judges if name not in brought]
        if not benchmark.roles or not asked or benchmark.brought:
            return []
        others = {role: self._judge(name) for role, name in parse_roles(options.roles).items()}
        used = {role: respondent for role, respondent in others.items() if role in benchmark.roles}
        retry = self.options.asking.retry_errors
        return [
            Judging(
                self.asks,
                benchmark,
                Panel(self._judge(name), used),
                budget=self.budget,
                retry_errors=retry,
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
                stored_judges = {judge.label for judge in self.brought(benchmark)}
                for name in judging.judges:
                    if name not in stored_judges:
                        self._judge(name)
            if judging.criterion is not None:
                benchmark.read_criterion(judging.criterion, benchmark.original, names or None)

    def brought(self, benchmark: Benchmark) -> list[BroughtJudge]:
        """Return the judges whose judgements came in files: those named now, and those in the
        store.
        """
        if benchmark.name not in self._brought:
            sets = stored(self.store, benchmark)
            if self.options.judging.judgements and not self.options.output.dry_run:
                self.judged[benchmark.name] = taken = self._take_judgements(benchmark)
                sets = keep(self.store, benchmark, taken.sets)
            self._brought[benchmark.name] = judges_of(benchmark, sets)
        return self._brought[benchmark.name]

    def _take_judgements(
        self, benchmark: Benchmark, names: Sequence[str] | None = None
    ) -> TakenJudgements:
        """Read the files of judgements. Give `names` while there are no stored answers to match."""
        whole, there = (
            self._whole[benchmark.name],
            [] if names is not None else self.stored_respondents(benchmark),
        )
        forms = forms_held(self.store, whole, self.forms_from_files(benchmark))
        known = names if names is not None else [who.name for who in there]
        texts = AnswerTexts(self.answers, whole, forms, there)
        sources = [JudgementSource.parse(text) for text in self.options.judging.judgements]
        return take_judgements(whole, forms, sources, known, texts, partial=self.logs.partial)

    def _judge(self, name: str) -> Respondent:
        if name.startswith("recorded/"):
            raise UsageError(
                "a file cannot judge",
                place=name,
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
                reference = cell.form == ORIGINAL and cell.run == 0 and not cell.resolution
                for i, judging in enumerate(judges if reference else judges[:1]):
                    for asking in range(
                        self.options.judging.rejudge if reference and i == 0 else 1
                    ):
                        yield (
                            judging,
                            partial(judging.judge, form, rows, asking, progress, stop),
                        )
            units = self._labelled_units(benchmark, respondents)
            for judging in judges if units else ():
                yield judging, partial(judging.decide, units, progress, stop)

    def _labelled_units(
        self, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
    ) -> list[Unit]:
        """Return the units that people labelled, about which `levels=stage` asks each stage."""
        if STAGE not in self.options.judging.levels or not benchmark.stages:
            return []
        path, form = self.options.judging.criterion, benchmark.original
        names = [who.name for who in respondents]
        labels = (
            Labels(tuple(benchmark.read_criterion(path, form, names)))
            if path is not None
            else stored_labels(self.store, benchmark, form, 0)
        )
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
        live = [name for name in who.respondents if not name.startswith("recorded/")]
        return bool(who.recorded) and not live

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
                given=unknown[0],
                known=every,
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
            put = sorted({cell[1:] for cell in recorded}, key=lambda at: (bool(at[1]), at))
            return [
                Administration(form, *at)
                for form in forms
                for at in put
                if (form.name, *at) in recorded
            ]
        whole = [
            Administration(f, run)
            for f in forms
            for run in range(self.options.asking.times if f.name == ORIGINAL else 1)
        ]
        scales = self.options.asking.resolutions
        return whole + [
            Administration(f, 0, scale) for f in forms if f.name == ORIGINAL for scale in scales
        ]

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
        by_respondent: dict[tuple[str, str], list[Job]] = {}
        jobs = self.jobs()
        for job in jobs:
            key = (job.assignment.respondent.name, job.assignment.benchmark.name)
            by_respondent.setdefault(key, []).append(job)
        asked_of = [own[0].assignment.respondent for own in by_respondent.values()]
        layouts = layouts_of(asked_of, **self.options.compute.running)
        engines = {name: max(1, layout.engines) for name, layout in layouts.items()}
        forecasts = {
            key: forecast(self.store, own, self.options.compute.prices, engines.get(key[0], 1))
            for key, own in by_respondent.items()
        }
        live = [key for key, own in by_respondent.items() if own[0].assignment.respondent.live]
        judging = self.pending_judgements()
        # those that a benchmark makes are there when they are asked about
        made = {benchmark.name for benchmark in self.benchmarks if benchmark.makes_pictures}
        missing = self.missing_images() if live and not self.options.asking.blind else {}
        return Plan(
            forecasts=forecasts,
            layouts=list(layouts.values()),
            images={name: count for name, count in missing.items() if name not in made},
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
        return (
            respondents_of(self.store, assignments)
            if assignments
            else respondents_in(self.asks, benchmark)
        )

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
        options, judges = self.options, [] if recorded else self.judges(benchmark)
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
        return Audit(
            tuple(
                (
                    replace(audit, flags=(*audit.flags, confounded[audit.benchmark].to_dict()))
                    if audit.benchmark in confounded
                    else audit
                )
                for audit in audits
            ),
            command,
            {**record_of(self.options, self.benchmarks, self._label_files), "costs": self._costs},
        )


def _how_labels_are_used(options: JudgingOptions) -> dict[str, Any]:
    """Return the arguments of `gather` that say how people's labels are pooled and correlated.

    Raises
    ------
    UsageError
        An option has a value that it does not know.
    """
    for name, value, known in (
        ("pool", options.pool, POOLS),
        ("stale", options.stale, STALES),
        *(("levels", level, LEVELS) for level in options.levels),
    ):
        if value is not None and value not in known:
            raise UsageError(
                f"the setting {name} has no value {value!r}",
                remedy=f"It has {', '.join(known)}.",
                given=value,
                known=known,
            )
    return {"pool": options.pool, "stale": options.stale, "levels": options.levels or ("model",)}


def _only(recording: Recording, form: Form) -> Recording:
    """Restrict a recording to the items of a form."""
    return replace(
        recording, answers={key: a for key, a in recording.answers.items() if key in form.by_id}
    )


def run_until(session: Session, stop: Stop = never, *, quiet: bool = True) -> list[StoppedRun]:
    """Ask the benchmarks of a session one after another, each until the rule of `--until` is met. A
    signal or a bound ends the list early.

    Raises
    ------
    DesignError
        A benchmark has no metric, form or respondents that the rule could be about; nobody was
        asked then.
    """
    from hqm.decisions.stopping import StoppingRule, ask_until, deciding_metric

    rule = StoppingRule.parse(session.options.asking.until)
    for benchmark in session.benchmarks:
        deciding_metric(benchmark, rule.metric)
        session.check_respondents(benchmark)
        named = session.options.what.form_names(benchmark.card.task)
        if named and ORIGINAL not in named:
            raise DesignError(
                "--until looks at the original form", remedy="Name it too: --forms original,..."
            )
    compute, runs = session.options.compute, []
    # processes of their own are worth starting for a look only where somebody asked for them
    spread: Engine | None = (
        session.engine() if compute.workers > 1 or compute.engine != "local" else None
    )
    say: Callable[[str], None] = (
        (lambda _: None) if quiet else partial(print, file=sys.stderr, flush=True)
    )
    for benchmark in session.benchmarks:
        if stop() or session.budget.reached:
            break
        runs.append(
            ask_until(
                rule,
                session.asks,
                benchmark,
                session.assignments(benchmark),
                partial(session.administrations, benchmark),
                engine=session.engine(),
                each_look=spread,
                stop=stop,
                budget=session.budget,
                seed=session.options.asking.seed or 0,
                probabilities=session.options.asking.probabilities
                or session.options.asking.expected,
                retry_errors=session.options.asking.retry_errors,
                say=lambda text: say(f"hqm: {text}"),
            )
        )
    return runs
