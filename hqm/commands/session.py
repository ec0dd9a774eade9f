"""A session: the benchmarks, respondents and store of one command.

What is read from files, and every model that is loaded, is kept for all that the command does.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, filterfalse
from operator import attrgetter
from pathlib import Path
from typing import Any

from hqm.administration.asks import (
    Administration,
    Asks,
    Assignment,
    Job,
    StoredRespondent,
    assign,
    plan_job,
)
from hqm.administration.costs import prices_of
from hqm.administration.engines import Engine, get_ready, make_engine
from hqm.administration.exported_answers import read_recorded_answers
from hqm.administration.stored_answers import (
    Answers,
    forms_by_name,
    forms_of,
    respondents_in,
    respondents_of,
)
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.evidence import Evidence, gather
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.corrected_keys import CorrectedKey, read_key
from hqm.benchmark.items import restrict_form
from hqm.benchmark.registry import load_all
from hqm.commands.options import AskingOptions, JudgingOptions, MaterialOptions, RunOptions
from hqm.commands.record import StudyCosts, record_of, study_costs
from hqm.commands.recorded_routes import Router, Routes
from hqm.commands.session_judges import BY_RULE, SessionJudges, is_recorded
from hqm.errors import UsageError, check_known
from hqm.extensions import load_extension
from hqm.files.memory import MAX_BYTES, FileMemory
from hqm.forms.make_forms import foreign_sentence, read_form
from hqm.imports.log_answers import ImportedLogs, LogSettings
from hqm.imports.recordings import Recording, perfect_respondents
from hqm.indicators.flags import length_confound
from hqm.labels.people_labels import LEVELS, POOLS, STALES
from hqm.respondents import make_respondent
from hqm.respondents.base import RecordedRespondent, Respondent, RespondentName
from hqm.respondents.kinds import kind_of, read_families
from hqm.respondents.server_limits import Budget
from hqm.store.database import Store
from hqm.types import ORIGINAL, REWORDINGS, Form, Item, names_of

ASKING = "hqm.asking"
"""The group of entry points by which an extension asks in another order, or stops early."""


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
        _check_exclusive(options.asking)
        self.asks = Asks(store, blind=options.asking.blind)
        self.answers = Answers(self.asks)
        # One budget for respondents and judges: the bounds are those of the command.
        self.budget = Budget(
            options.asking.max_requests,
            options.asking.max_tokens_total,
            options.asking.max_cost,
            prices=options.compute.prices,
        )

        # The judges before the benchmarks: how one is loaded depends on whether anybody judges it.
        # A corrected key is read against the whole benchmark, before a part is cut out.
        self.judging = SessionJudges(self)
        self.notes: list[str] = []
        """Sentences for the user about what was read, and how."""
        self.benchmarks: list[Benchmark] = []
        members: dict[str, list[str]] = {}
        for name in names:
            loaded = [name] if isinstance(name, Benchmark) else self._load(name, len(names))
            self.benchmarks += loaded
            member_names = [benchmark.name for benchmark in loaded]
            # Recorded answers may be sent to a group as a whole, or to a benchmark by its own name.
            members[str(name) if len(loaded) > 1 else member_names[0]] = member_names
        mode = options.judging.mode
        if mode and not any(mode in benchmark.modes for benchmark in self.benchmarks):
            load_all(str(names[0]), **options.loading)  # says which modes there are
        counts = Counter(names_of(self.benchmarks))
        repeated = sorted(name for name, count in counts.items() if count > 1)
        if repeated:
            raise UsageError(
                f"{', '.join(repeated)} is named twice", remedy="Name every benchmark once."
            )
        self.keys = self._corrected_keys()
        self.full_benchmarks: dict[str, Benchmark] = {}
        for benchmark in self.benchmarks:
            # Files of answers, judgements and labels are matched to all items, and cut afterwards.
            self.full_benchmarks[benchmark.name] = copy.copy(benchmark)
            if options.material.part or options.material.limit:
                benchmark.original = restrict_form(
                    benchmark.original,
                    benchmark.name,
                    options.material.part,
                    options.material.limit,
                )

        # what is read or made once, by the name of the benchmark, or of the respondent
        self._router = Router(members, self._count_answers)
        self._routes: Routes | None = None
        # One benchmark reads its files once anyway; of several, each looks at every file.
        self._memory = FileMemory(MAX_BYTES if len(self.benchmarks) > 1 else 0)
        self._respondents: dict[str, list[Respondent]] = {}
        self._live_respondents: dict[str, Respondent] = {}
        self._recorded_forms: dict[str, set[str]] = {}
        self._whole_file_forms: dict[str, list[Form]] = {}
        self._file_forms: dict[str, tuple[Form, list[Form]]] = {}
        """Benchmark -> the forms from files, cut to the items of this original form."""
        self._label_files: dict[str, list[str]] = {}
        self._costs: dict[str, StudyCosts] = {}

        # what came from files, for those who print or store it
        self.logs = LogSettings(partial=options.answering.partial, files=options.answering.files)
        self.imported_answers: dict[str, ImportedLogs] = {}
        """Benchmark -> the answers taken from logs of other tools."""

    def _load(self, name: str, n_names: int) -> list[Benchmark]:
        """The benchmarks of a name. Of several names, one whose answers nothing judges is scored by
        its rule, where it has one.
        """
        # Of several benchmarks, a mode is meant for those that have it.
        loaded = load_all(name, **self.options.loading, fitting=n_names > 1)
        if n_names == 1 or self.options.judging.mode or self.judging.has_judge:
            return loaded
        unjudged = [
            benchmark.name
            for benchmark in filter(self.judging.is_missing, loaded)
            if BY_RULE in benchmark.modes
        ]
        if not unjudged:
            return loaded
        self.notes.append(
            f"{', '.join(unjudged)}: scored by rule, because no judge is named; --judge MODEL asks"
            " the judge of the release."
        )
        return load_all(name, **{**self.options.loading, "mode": BY_RULE}, fitting=True)

    def _corrected_keys(self) -> dict[str, CorrectedKey]:
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
            respondent_options = self.options.answering
            live = list(filterfalse(is_recorded, respondent_options.respondents))
            paths = self._recorded_routes().get(benchmark.name, [])
            # nobody is named, and no file: the models that come with the benchmark answer
            if not live and not self._recorded_sources:
                live = list(benchmark.card.respondents.embedded)
            respondents: list[Respondent] = []
            # a benchmark that was made from a log brings the answers of the log
            if paths or benchmark.included_recordings:
                with self._memory.active():
                    respondents += self._recorded(benchmark, paths)
            respondents += map(self.live_respondent, live)
            self._respondents[benchmark.name] = respondents
        return self._respondents[benchmark.name]

    @property
    def _recorded_sources(self) -> list[Path]:
        """The files and folders of recorded answers that the options name."""
        respondent_options = self.options.answering
        recorded = filter(is_recorded, respondent_options.respondents)
        paths = [Path(RespondentName.parse(name).target) for name in recorded]
        return paths + list(respondent_options.recorded)

    def _recorded_routes(self) -> Routes:
        """The recorded answers of each benchmark."""
        if self._routes is None:
            with self._memory.active():
                self._routes = self._router.route(self._recorded_sources)
            self.notes += self._router.notes
            if len(self.benchmarks) > 1:
                for name, paths in self._routes.items():
                    self.notes.append(f"{name}: {', '.join(map(str, paths))}.")
        return self._routes

    def _count_answers(self, name: str, path: Path) -> tuple[int, int]:
        """How many answers to a benchmark a file of recorded answers holds, and how many it would
        hold if all items of the answered parts were answered.
        """
        benchmark = self.full_benchmarks[name]
        recordings = read_recorded_answers(
            benchmark, [path], self._readable_forms(benchmark), self.logs
        ).recordings
        n_answers = sum(len(recording.answers) for recording in recordings)
        n_items = len(_answered_parts(benchmark.original, recordings))
        return n_answers, n_items * len(recordings)

    def _readable_forms(self, benchmark: Benchmark) -> dict[str, Form]:
        """The forms of a whole benchmark to which a file may hold answers: those of the options,
        and the benchmark's own.
        """
        return forms_by_name([*benchmark.further_forms, *self.forms(benchmark)])

    def live_respondent(self, name: str) -> Respondent:
        # one object a name, so that a model is loaded once for all benchmarks
        if name not in self._live_respondents:
            compute = self.options.compute
            self._live_respondents[name] = make_respondent(
                name,
                device=compute.device,
                dtype=compute.dtype,
                batch=0 if compute.batch == "yes" else compute.batch,
                batch_api=compute.batch == "yes",
                vllm=compute.vllm,
                concurrency=compute.concurrency,
            )
            self._check_price(self._live_respondents[name])
        return self._live_respondents[name]

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
        # A file is matched to the whole benchmark, and cut afterwards: otherwise its rows about
        # other parts would be unmatched.
        is_cut = bool(self.options.material.part or self.options.material.limit)
        full_benchmark = self.full_benchmarks[benchmark.name] if is_cut else benchmark
        full_forms = self._readable_forms(full_benchmark)
        recorded = read_recorded_answers(full_benchmark, paths, full_forms, self.logs)
        recorded_forms = {recording.form for recording in recorded.recordings}
        self._recorded_forms[benchmark.name] = recorded_forms & full_forms.keys()
        forms = forms_by_name(self.forms(benchmark))
        self._check_recorded_forms(benchmark, recorded_forms, forms)
        recordings = [*benchmark.included_recordings, *recorded.recordings]
        if is_cut:
            whole_recordings = recordings
            recordings = []
            for recording in whole_recordings:
                restricted = _restrict_recording(recording, forms[recording.form])
                if restricted.answers:
                    recordings.append(restricted)

        # A part of which nobody answered anything was not administered; within the others, what was
        # not answered is missing.
        administered = _answered_parts(benchmark.original, recordings)
        benchmark.original = replace(benchmark.original, items=administered)

        # what the user is told of the files
        if paths:
            matched = recorded.select_items({**forms, ORIGINAL: benchmark.original})
            self.imported_answers[benchmark.name] = matched
            self.notes += [*matched.notes, *matched.other_keys]
        self.notes += perfect_respondents(benchmark.original, recordings)

        by_name: dict[str, list[Recording]] = {}
        for recording in recordings:
            by_name.setdefault(recording.respondent, []).append(recording)
        return [
            RecordedRespondent(f"recorded/{name}", name_recordings)
            for name, name_recordings in by_name.items()
        ]

    def _check_recorded_forms(
        self, benchmark: Benchmark, recorded_forms: set[str], forms: Mapping[str, Form]
    ) -> None:
        """Say which forms of recorded answers are left out, and refuse answers that leave the
        original form without any.
        """
        if recorded_forms and ORIGINAL not in recorded_forms and not benchmark.included_recordings:
            raise UsageError(
                f"the answers to {benchmark.name} are to the form {min(recorded_forms)!r}, and an"
                " audit begins with the original form",
                remedy=(
                    "Add the answers to the original form, or score the file alone:"
                    f" `hqm score {benchmark.name} --answers FILE`."
                ),
            )
        for name in sorted(recorded_forms - forms.keys()):
            self.notes.append(
                f"{benchmark.name}: the answers to the form {name!r} are left out; --forms names"
                " others."
            )

    def check(self) -> None:
        """Refuse names that mean nothing, and files that do not fit, before anybody is asked."""
        judging = self.options.judging
        _label_arguments(judging)
        for benchmark in self.benchmarks:
            for metric in self.options.reading.metrics:
                benchmark.metric(metric)
            names: list[str] | None = None
            # offline, the store says who answered, and nothing is read for it
            if not self.offline:
                self.forms(benchmark)
                names = names_of(self.respondents(benchmark))
            if judging.judgements:
                self.judging.read_judgements(benchmark, names)
            else:
                for name in self.judging.live_names(benchmark):
                    self.judging.live_judge(name)
            if judging.criterion is not None:
                benchmark.read_criterion(judging.criterion, benchmark.original, names or None)

    # --- what ---

    def forms_from_files(self, benchmark: Benchmark) -> list[Form]:
        """The forms that the options name as files."""
        if benchmark.name not in self._whole_file_forms:
            # like answers, a form in a file is one of the whole benchmark, and cut afterwards
            full_form = self.full_benchmarks[benchmark.name].original
            self._whole_file_forms[benchmark.name] = [
                read_form(path, full_form, name)
                for name, path in self.options.material.form_files.items()
            ]
        original, forms = self._file_forms.get(benchmark.name, (None, []))
        if original is not benchmark.original:
            whole_forms = self._whole_file_forms[benchmark.name]
            forms = [form.restrict_to(benchmark.original.by_id) for form in whole_forms]
            self._file_forms[benchmark.name] = (benchmark.original, forms)
        return forms

    @property
    def _only_recorded(self) -> bool:
        return bool(self._recorded_sources) and all(
            map(is_recorded, self.options.answering.respondents)
        )

    def forms(self, benchmark: Benchmark) -> list[Form]:
        """Return the forms that the options name, in their order."""
        option_names = self.options.material.form_names(benchmark.original.tasks)
        form_names = list(dict.fromkeys([*option_names, *self.options.material.form_files]))
        if benchmark.included_recordings:
            recorded_forms = {recording.form for recording in benchmark.included_recordings}
            form_names = [ORIGINAL, *sorted(recorded_forms - {ORIGINAL})]
        is_default = self.options.material.forms == MaterialOptions().forms
        if self._only_recorded and is_default:
            # What was recorded was administered, whether or not somebody names it.
            administered = sorted(self._recorded_forms.get(benchmark.name, ()))
            form_names = list(dict.fromkeys([*form_names, *administered]))
        forms = forms_by_name(
            forms_of(benchmark, self.forms_from_files(benchmark), rewordings=form_names)
        )
        for name in form_names:
            if name not in forms:
                known_names = ", ".join(dict.fromkeys([ORIGINAL, *REWORDINGS, *forms]))
                raise UsageError(
                    f"{benchmark.name} has no form {name!r}",
                    remedy=f"It has {known_names}; bring one with --form.",
                    name=name,
                    choices=forms,
                )
        worded: list[Form] = []
        for name in form_names:
            form = forms[name]
            if form.items or not form.left_out:
                worded.append(form)
            # nobody asked for the parallel form by name, and nobody is going to be put it
            elif not (self._only_recorded and is_default):
                reason = foreign_sentence(form) or f"the first: {form.left_out[0].reason}"
                raise UsageError(
                    f"no item of {benchmark.name} has a wording {form.name!r}; {reason}",
                    remedy=(
                        f"Ask with --forms {ORIGINAL}, or bring it with --form {form.name}=FILE."
                    ),
                )
        return worded

    def administrations(self, benchmark: Benchmark, respondent: Respondent) -> list[Administration]:
        """Return what a respondent is asked: the original form in every run, the other forms once.
        A recorded respondent has what was recorded.
        """
        forms = self.forms(benchmark)
        if isinstance(respondent, RecordedRespondent):
            recorded = set(respondent.cells)
            # Whole pictures before scaled ones, as the live respondents have them.
            runs = sorted(
                {cell[1:] for cell in recorded},
                key=lambda run_scale: (bool(run_scale[1]), run_scale),
            )
            return [
                Administration(form, *run_scale)
                for form in forms
                for run_scale in runs
                if (form.name, *run_scale) in recorded
            ]
        administrations: list[Administration] = []
        scaled: list[Administration] = []
        for form in forms:
            if form.name != ORIGINAL:
                administrations.append(Administration(form, 0))
                continue
            asking = self.options.asking
            administrations += [Administration(form, run) for run in range(asking.times)]
            scaled += [Administration(form, 0, resolution) for resolution in asking.resolutions]
        return administrations + scaled

    def jobs(self) -> list[Job]:
        """Everything to be asked, respondent by respondent."""
        for benchmark in self.benchmarks:
            self.check_respondents(benchmark)
        asking = self.options.asking
        # What is expected of reruns follows from probabilities, which are asked for with the
        # answers.
        probabilities = asking.probabilities or asking.expected
        jobs: list[Job] = []
        for assignment in chain.from_iterable(map(self.assignments, self.benchmarks)):
            respondent = assignment.respondent
            for administration in self.administrations(assignment.benchmark, respondent):
                job = plan_job(
                    self.asks,
                    assignment,
                    administration,
                    probabilities=probabilities,
                    retry_errors=asking.retry_errors,
                )
                jobs.append(job)
        return jobs

    def check_respondents(self, benchmark: Benchmark) -> None:
        """Prepare a benchmark's pictures, and refuse it if there is no respondent."""
        benchmark.prepare_images(benchmark.original)
        if not self.respondents(benchmark):
            if recorded := self._recorded_sources:
                raise UsageError(
                    f"it holds no answer to {benchmark.name}",
                    location=", ".join(map(str, recorded)),
                    remedy="Write a row for each answer: item, respondent and answer.",
                )
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
        """Make the engine that runs the requests."""
        return make_engine(**self.options.compute.running)

    def get_ready(self) -> None:
        """Let workers import their libraries during the planning, if a respondent is new."""
        compute = self.options.compute
        if compute.engine == "local":
            assignments = chain.from_iterable(map(self.assignments, self.benchmarks))
            # One that the store knows may have nothing left to answer.
            unknown = [a.respondent for a in assignments if a.number(self.store) is None]
            get_ready(unknown, workers=compute.workers)

    def has_live(self, benchmark: Benchmark) -> bool:
        """Whether a respondent of a benchmark looks at its pictures."""
        return any(respondent.live for respondent in self.respondents(benchmark))

    def fetch_images(self) -> None:
        """Make or download the pictures that a live respondent or a judge will see."""
        has_judges = bool(self.options.judging.judges)
        for benchmark in self.benchmarks:
            # A judge sees what respondents were not shown, or saw long ago.
            is_judged = has_judges and bool(benchmark.roles)
            if is_judged or (self.has_live(benchmark) and not self.options.asking.blind):
                benchmark.prepare_images(benchmark.original)
                private = self.options.material.allow_private_images
                benchmark.pictures.fetch(self._images(benchmark), private=private)

    def _images(self, benchmark: Benchmark) -> list[str]:
        """The pictures of all forms that are asked, each once: a form may have its own."""
        forms = [benchmark.original]
        # `--until` asks the original form alone
        if not self.options.asking.until:
            forms += self.forms(benchmark)
        return list(dict.fromkeys(chain.from_iterable(map(attrgetter("images"), forms))))

    def missing_images(self) -> dict[str, tuple[int, int]]:
        """Benchmark -> (pictures that are missing, pictures in all)."""
        missing = {}
        for benchmark in self.benchmarks:
            names = self._images(benchmark)
            missing[benchmark.name] = (
                sum(not benchmark.pictures.has(name) for name in names),
                len(names),
            )
        return missing

    def stored_respondents(self, benchmark: Benchmark) -> list[StoredRespondent]:
        """Return the respondents of this command as the store knows them; all of them if none is
        named.
        """
        respondent_options = self.options.answering
        if self.offline and not respondent_options.respondents and not respondent_options.recorded:
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
        forms: Sequence[Form] | None = None,
        pictures: bool = True,
        recorded: bool = False,
    ) -> Evidence:
        """Gather what an audit of a benchmark looks at, from the store and the files."""
        options = self.options
        judges = [] if recorded else self.judging.judges(benchmark)
        evidence = gather(
            benchmark,
            self.store,
            self.stored_respondents(benchmark) if respondents is None else respondents,
            asks=asks or self.asks,
            forms=self.forms_from_files(benchmark) if forms is None else forms,
            criterion=options.judging.criterion,
            metrics=options.reading.metrics,
            judges=judges,
            families=read_families(options.answering.families)
            if options.answering.families
            else None,
            margin=options.reading.margin,
            pictures=pictures,
            recorded=recorded,
            **_label_arguments(options.judging),
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
        # The session's benchmark keeps the released key.
        corrected = copy.copy(benchmark)
        key = self.keys[benchmark.name]
        corrected.original = key.applied(benchmark.original)
        # What is read from files has the released targets, whatever original it belongs to.
        forms = (*benchmark.further_forms, *self.forms_from_files(benchmark))
        return self.evidence(
            corrected,
            self.stored_respondents(benchmark),
            forms=[key.applied(form, benchmark.original) for form in forms],
            asks=Asks(self.store, blind=self.asks.blind),
        )

    def joined(self, audits: Sequence[BenchmarkAudit], command: str) -> Audit:
        """Join the audits of all benchmarks, add the record, and flag unequal lengths."""
        # Lengths differ between benchmarks, so that only a command with several of them can see it.
        confounded = length_confound({audit.benchmark: audit.n_items for audit in audits})
        flagged = []
        for audit in audits:
            if audit.benchmark in confounded:
                flag = confounded[audit.benchmark].to_dict()
                audit = replace(audit, flags=(*audit.flags, flag))
            flagged.append(audit)
        record = record_of(self.options, self.benchmarks, self._label_files)
        return Audit(tuple(flagged), command, {**record, "costs": self._costs})


def _check_exclusive(options: AskingOptions) -> None:
    """Refuse options of asking that exclude each other, or whose extension is not there."""
    if options.until:
        load_extension(ASKING, "--until", "an option")
    if not options.resolutions:
        return
    if options.blind:
        conflict = "--blind shows no picture"
    elif options.until:
        conflict = "--until asks the original form alone"
    else:
        return
    raise UsageError(
        f"--resolution scales pictures, and {conflict}", remedy="Leave out one of the two."
    )


def _answered_parts(form: Form, recordings: Iterable[Recording]) -> tuple[Item, ...]:
    """The items of those parts of a form of which anything was answered."""
    answered: set[str] = set()
    for recording in recordings:
        answered.update(recording.answers)
    parts = {item.part for item in form.items if item.id in answered}
    return form.select_part(*parts).items


def _label_arguments(options: JudgingOptions) -> dict[str, Any]:
    """Return the arguments of `gather` that say how people's labels are pooled and correlated.

    Raises
    ------
    UsageError
        An option has a value that it does not know.
    """
    for name, value, known_values in (
        ("pool", options.pool or POOLS[0], POOLS),
        ("stale", options.stale, STALES),
        *(("levels", level, LEVELS) for level in options.levels),
    ):
        check_known(value, known_values, f"the setting {name} has no value {value!r}", "It has {}.")
    return {"pool": options.pool, "stale": options.stale, "levels": options.levels or ("model",)}


def _restrict_recording(recording: Recording, form: Form) -> Recording:
    """Restrict a recording to the items of a form."""
    return replace(
        recording,
        answers={key: answer for key, answer in recording.answers.items() if key in form.by_id},
    )
