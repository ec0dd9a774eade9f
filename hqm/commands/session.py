"""A session: the benchmarks, respondents and store of one command, and the record of the command:
what somebody who repeats it would need to know.

What is read from files, and every model that is loaded, is kept for all that the command does.
"""

from __future__ import annotations

import copy
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from operator import attrgetter
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

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
from hqm.administration.stored_answers import (
    Answers,
    respondents_in,
    respondents_of,
)
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.evidence import Evidence
from hqm.auditing.gathering import gather
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.items import restrict_form
from hqm.benchmark.judge_api import parse_judge
from hqm.benchmark.registry import load_all
from hqm.commands.options import AskingOptions, JudgingOptions, RunOptions
from hqm.commands.session_forms import SessionForms
from hqm.commands.session_judges import BY_RULE, SessionJudges
from hqm.commands.session_respondents import SessionRespondents, recorded_sources
from hqm.errors import UsageError, check_known
from hqm.extensions import ASKING, load_extension
from hqm.imports.human_labels import LabelContext, label_notes
from hqm.indicators.flags import length_confound
from hqm.judges.file_judge import Judge
from hqm.judges.judge_models import Judging
from hqm.labels.people_labels import LEVELS, POOLS, STALES
from hqm.respondents.base import RecordedRespondent, Respondent
from hqm.respondents.kinds import is_recorded, read_families
from hqm.respondents.server_limits import Budget, Prices
from hqm.store.database import Store
from hqm.types import ORIGINAL, Form, names_of
from hqm.version import installed_version

if TYPE_CHECKING:
    from hqm.benchmark.corrected_keys import CorrectedKey


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

        sources = recorded_sources(options.answering)
        only_recorded = bool(sources) and all(map(is_recorded, options.answering.respondents))
        self.forms = SessionForms(
            options.material, self.full_benchmarks, only_recorded=only_recorded
        )
        self.respondents = SessionRespondents(
            options, sources, members, self.full_benchmarks, self.forms, self.budget, self.notes
        )
        self._label_files: dict[str, list[str]] = {}
        self._costs: dict[str, StudyCosts] = {}

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
        from hqm.benchmark.corrected_keys import read_key

        return {self.benchmarks[0].name: read_key(path, self.benchmarks[0])}

    # --- who ---

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
                self.forms.named(benchmark)
                names = names_of(self.respondents.of(benchmark))
            if judging.judgements:
                self.judging.read_judgements(benchmark, names)
            else:
                for name in self.judging.live_names(benchmark):
                    self.judging.live_judge(name)
            if judging.criterion is not None:
                benchmark.read_criterion(judging.criterion, benchmark.original, names or None)
        if judging.criterion is not None:
            self.notes += label_notes(judging.criterion)

    # --- what ---

    def administrations(self, benchmark: Benchmark, respondent: Respondent) -> list[Administration]:
        """Return what a respondent is asked: the original form in every run, the other forms once.
        A recorded respondent has what was recorded.
        """
        forms = self.forms.named(benchmark)
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
        if not self.respondents.of(benchmark):
            if recorded := self.respondents.sources:
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
            assign(respondent, benchmark, sampling) for respondent in self.respondents.of(benchmark)
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
        return any(respondent.live for respondent in self.respondents.of(benchmark))

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
            forms += self.forms.named(benchmark)
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
            forms=self.forms.from_files(benchmark) if forms is None else forms,
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
            self.respondents.loaded.get(benchmark.name, []),
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
        forms = (*benchmark.further_forms, *self.forms.from_files(benchmark))
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


class UsageRecord(TypedDict, total=False):
    """What a respondent or judge took, by which `hqm design` prices another study."""

    name: str
    answers: int
    tokens_in: int
    tokens_out: int
    seconds: float
    """The mean of an answer."""
    price_in: float
    price_out: float
    replies_a_verdict: float


class StudyCosts(TypedDict):
    """What a study took: its respondents by name, its judge, and people's seconds a label."""

    respondents: dict[str, UsageRecord]
    judge: NotRequired[UsageRecord]
    label_seconds: NotRequired[float]


def record_of(
    options: RunOptions, benchmarks: Sequence[Benchmark], label_files: Mapping[str, Sequence[str]]
) -> dict[str, object]:
    """Return what a repetition needs: versions, settings, hashes of data and cards."""
    return {
        "python": platform.python_version(),
        "packages": dict(_library_versions()),
        "settings": {
            "runs": options.asking.times,
            "forms": list(dict.fromkeys([*options.material.forms, *options.material.form_files])),
            # Left out where it is not set, so that records of other commands stay as they were.
            **({"expected": True} if options.asking.expected else {}),
            "scoring": options.reading.scoring,
            "parser": options.reading.parser,
            "blind": options.asking.blind,
            "resolutions": list(options.asking.resolutions),
            "judges": list(options.judging.judges),
            "roles": list(options.judging.roles),
            "rejudge": options.judging.rejudge,
            "prompts": options.judging.prompts,
            "mode": options.judging.mode,
            "words": options.reading.words,
            "withheld": options.reading.withheld,
            "sampling": dict(options.asking.sampling),
        },
        "benchmarks": {
            benchmark.name: {
                "version": benchmark.card.version,
                "card": benchmark.card.digest,
                "items": benchmark.original.digest,
                **({"labels": files} if (files := label_files.get(benchmark.name)) else {}),
            }
            for benchmark in benchmarks
        },
    }


@cache
def _library_versions() -> Mapping[str, str]:
    """Return the versions of the libraries that may change an answer or a number."""
    packages = ("numpy", "pandas", "pillow", "scipy", "torch", "transformers", "openai")
    versions = {package: installed_version(package) for package in packages}
    return MappingProxyType({package: version for package, version in versions.items() if version})


# --- what the answers took, by which `hqm design` prices another study ---


def study_costs(
    store: Store,
    evidence: Evidence,
    respondents: Sequence[Respondent],
    judges: Sequence[Judge],
    prices: Prices | None = None,
) -> StudyCosts:
    """What respondents, judges and people took for their answers, verdicts and labels, as far as
    the store has measured it.

    Parameters
    ----------
    respondents
        Those of the command: their names may have prices.
    prices
        Of every respondent, in place of its own.
    """
    prices_by_name = {
        respondent.name: prices or prices_of(respondent) for respondent in respondents
    }
    costs: StudyCosts = {"respondents": {}}
    for respondent in evidence.respondents:
        respondent_prices = prices_by_name.get(respondent.name, prices)
        if used := _usage_record(store, respondent.number, respondent_prices):
            costs["respondents"][respondent.name] = used
    # the cost of judging is that of the first panel that is asked
    panel = next((judge for judge in judges if isinstance(judge, Judging)), None)
    if panel is not None and (used := _judge_record(store, evidence, panel, prices)):
        costs["judge"] = used
    contexts = map(LabelContext.from_judgement, evidence.labels.judgements)
    times = [context.seconds for context in contexts if context.seconds is not None]
    if times:
        costs["label_seconds"] = median(times)
    return costs


def _judge_record(
    store: Store, evidence: Evidence, judging: Judging, prices: Prices | None
) -> UsageRecord:
    """`_usage_record` of a judge, with its replies a verdict; empty where it was never asked."""
    judge = judging.panel.main
    number = store.find_respondent(judge.name, judging.identity(judge))
    if number is None:
        return {}
    n_verdicts = sum(
        int(np.isfinite(matrix.values).sum())
        for cell, matrix in evidence.matrices.items()
        if parse_judge(cell.judge)[0] == judging.label
    )
    used = _usage_record(store, number, prices or prices_of(judge))
    # a procedure of several stages asks more than once a verdict
    replies = used.get("answers", 0) / n_verdicts if n_verdicts else 1.0
    return {"name": judge.name, **used, "replies_a_verdict": replies}


def _usage_record(store: Store, number: int, prices: Prices | None) -> UsageRecord:
    """Tokens, mean seconds and prices of whoever has this number; empty where nothing was
    measured.
    """
    usage = store.usage(number)
    timed, seconds = store.seconds(number)
    record: UsageRecord = {"answers": usage.answers}
    if usage.tokens_in:
        record["tokens_in"] = usage.tokens_in
        record["tokens_out"] = usage.tokens_out
    if timed:
        record["seconds"] = float(seconds) / timed
    if prices is not None:
        record["price_in"], record["price_out"] = prices
    # the number of answers alone prices nothing
    return record if len(record) > 1 else {}
