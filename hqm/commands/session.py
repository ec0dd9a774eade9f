"""One command's work: benchmarks, respondents and a store, from their names to the audits."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hqm.administration.answers import Answers
from hqm.administration.asks import Asks
from hqm.administration.assignment import Administration, Assignment, StoredRespondent, assign
from hqm.administration.costs import prices_of
from hqm.administration.engines import Engine, make_engine
from hqm.administration.holdings import cells_in, forms_of, parallel_put, respondents_in, respondents_of
from hqm.administration.planning import Job, plan
from hqm.auditing.evidence import Evidence, gather
from hqm.auditing.families import read_families
from hqm.auditing.value import Audit, BenchmarkAudit
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.recorded import Recording, read_recordings
from hqm.benchmark.registry import load_all
from hqm.commands.options import RunOptions
from hqm.errors import HQMError, UsageError
from hqm.forms.build import read_form
from hqm.indicators.flags import length_confound
from hqm.judges.judging import Judged, Judging, Progress
from hqm.judges.panel import Panel, parse_roles
from hqm.respondents import make_respondent
from hqm.respondents.base import Respondent, RespondentName
from hqm.respondents.budget import Budget
from hqm.respondents.kinds import kind_of
from hqm.respondents.recorded import RecordedRespondent
from hqm.store.database import Store
from hqm.types import ORIGINAL, PARALLEL, Form


class Session:
    """Benchmarks by name, put to respondents by name, over one store.

    Raises
    ------
    UsageError
        A name or option means nothing, or there is no respondent to answer.
    """

    def __init__(self, names: Sequence[str], store: Store, options: RunOptions) -> None:
        self.store, self.options = store, options
        self.asks = Asks(store, blind=options.asking.blind)
        self.answers = Answers(self.asks)
        self.budget = Budget(
            options.asking.max_requests,
            options.asking.max_tokens_total,
            options.asking.max_cost,
            prices=options.output.prices,
        )
        what, reading, judging = options.what, options.reading, options.judging
        settings = {"data": what.data, "images": what.images, "scoring": reading.scoring, "parser": reading.parser}
        settings |= {"prompts": judging.prompts, "mode": judging.mode, "words": reading.words}
        settings["withheld"] = reading.withheld
        self.benchmarks = [benchmark for name in names for benchmark in load_all(name, **settings)]
        repeated = {b.name for b in self.benchmarks if sum(b.name == other.name for other in self.benchmarks) > 1}
        if repeated:
            raise UsageError(f"{', '.join(sorted(repeated))} is named twice", remedy="Name every benchmark once.")
        for benchmark in self.benchmarks:
            if options.what.part or options.what.limit:
                benchmark.original = self._cut(benchmark, benchmark.original)
        self._respondents: dict[str, list[Respondent]] = {}
        self._made: dict[str, Respondent] = {}
        self._from_files: dict[str, list[Form]] = {}
        self._label_files: dict[str, list[str]] = {}

    def _cut(self, benchmark: Benchmark, form: Form) -> Form:
        if self.options.what.part:
            parts = list(dict.fromkeys(item.part for item in form.items if item.part))
            form = form.only(self.options.what.part)
            if not form.items:
                known = ", ".join(parts) or "none"
                raise UsageError(
                    f"{benchmark.name} has no part {self.options.what.part!r}", remedy=f"Its parts are {known}."
                )
        return replace(form, items=form.items[: self.options.what.limit])

    # --- who ---

    def respondents(self, benchmark: Benchmark) -> list[Respondent]:
        """Those who answer a benchmark: the ones named, the recorded ones, else the embedded ones."""
        if benchmark.name not in self._respondents:
            names = list(self.options.who.respondents)
            recorded = [RespondentName.parse(name).target for name in names if name.startswith("recorded/")]
            live = [name for name in names if not name.startswith("recorded/")]
            paths = [Path(target) for target in recorded] + (
                [self.options.who.recorded] if self.options.who.recorded else []
            )
            if not names and not paths:
                live = list(benchmark.card.respondents.embedded)
            respondents: list[Respondent] = [r for path in paths for r in self._recorded(benchmark, path)]
            self._respondents[benchmark.name] = respondents + [self._live(name) for name in live]
        return self._respondents[benchmark.name]

    def _live(self, name: str) -> Respondent:
        # one object a name, so that a model is loaded once for all benchmarks
        if name not in self._made:
            machine = self.options.machine
            self._made[name] = make_respondent(
                name, device=machine.device, dtype=machine.dtype, batch=machine.batch, vllm=machine.vllm
            )
            self._check_price(self._made[name])
        return self._made[name]

    def _check_price(self, respondent: Respondent) -> None:
        """Refuse a bound on money where the price of a respondent is not known."""
        kind = kind_of(respondent.name.partition("/")[0])
        priced = self.budget.prices or prices_of(respondent)
        if self.budget.max_cost is not None and kind is not None and kind.price == "per token" and priced is None:
            raise UsageError(
                "its price is not known, and --max-cost bounds the cost",
                place=respondent.name,
                remedy="Write ?price_in=MONEY&price_out=MONEY behind its name, or give --price-in and --price-out.",
            )

    def _recorded(self, benchmark: Benchmark, path: Path) -> list[Respondent]:
        recordings = benchmark.recordings(path)
        if recordings is None:
            recordings = read_recordings(path, {form.name: form for form in self.forms(benchmark)})
        # an item that no respondent was asked is no part of what was administered
        asked = {key for recording in recordings for key in recording.answers}
        benchmark.original = replace(
            benchmark.original, items=tuple(i for i in benchmark.original.items if i.id in asked)
        )
        by_name: dict[str, list[Recording]] = {}
        for recording in recordings:
            by_name.setdefault(recording.respondent, []).append(recording)
        return [RecordedRespondent(f"recorded/{name}", of_name) for name, of_name in by_name.items()]

    # --- who judges ---

    def judges(self, benchmark: Benchmark) -> list[Judging]:
        """The panels that judge the answers to a benchmark; none for a benchmark that a rule scores.

        Raises
        ------
        UsageError
            The benchmark is judged by a model, and no judge is named.
        """
        options = self.options.judging
        if not benchmark.roles:
            return []
        if not options.judges:
            raise UsageError(
                f"the answers to {benchmark.name} are judged by a model, and none is named",
                remedy="Name it with --judge, for example --judge openai/<model>.",
            )
        others = {role: self._judge(name) for role, name in parse_roles(options.roles).items()}
        used = {role: respondent for role, respondent in others.items() if role in benchmark.roles}
        retry = self.options.asking.retry_refused
        return [
            Judging(self.asks, benchmark, Panel(self._judge(name), used), budget=self.budget, retry_refused=retry)
            for name in options.judges
        ]

    def _judge(self, name: str) -> Respondent:
        if name.startswith("recorded/"):
            raise UsageError("a file cannot judge", place=name, remedy="Score it with `hqm score --judgements`.")
        return self._live(name)

    def judge(self, progress: Progress | None = None) -> Judged:
        """Put every stored answer to the judges, and the reference administration again as often as the options say."""
        asked = errors = refused = 0
        failed: list[tuple[str, HQMError]] = []
        for benchmark in self.benchmarks:
            judges = self.judges(benchmark)
            respondents = self.stored_respondents(benchmark) if judges else []
            forms = {
                form.name: form
                for form in forms_of(
                    benchmark, self.forms_from_files(benchmark), parallel=parallel_put(self.store, benchmark)
                )
            }
            cells = cells_in(self.asks, benchmark, list(forms.values()), respondents) if judges else []
            for cell in cells:
                form = forms[cell.form]
                rows = self.answers.by_respondent(benchmark, form, respondents, cell.run)
                reference = cell.form == ORIGINAL and cell.run == 0
                for i, judging in enumerate(judges if reference else judges[:1]):
                    for asking in range(self.options.judging.rejudge if reference and i == 0 else 1):
                        judged = judging.judge(form, rows, asking, progress)
                        asked, errors = asked + judged.asked, errors + judged.errors
                        refused += judged.refused
                        failed += [pair for pair in judged.failed if pair[0] not in dict(failed)]
        return Judged(asked, errors, tuple(failed), refused)

    def pending_judgements(self) -> dict[str, int]:
        """Judge -> how many questions about the answers stored so far it has not replied to."""
        pending: dict[str, int] = {}
        for benchmark in self.benchmarks if self.options.judging.judges else ():
            for judging in self.judges(benchmark):
                respondents = self.stored_respondents(benchmark)
                rows = self.answers.by_respondent(benchmark, benchmark.original, respondents, 0)
                count = judging.pending(benchmark.original, rows) if respondents else 0
                pending[judging.panel.label] = pending.get(judging.panel.label, 0) + count
        return pending

    # --- what ---

    def forms_from_files(self, benchmark: Benchmark) -> list[Form]:
        """The forms that the options name as files."""
        if benchmark.name not in self._from_files:
            files = self.options.what.form_files.items()
            self._from_files[benchmark.name] = [read_form(path, benchmark.original, name) for name, path in files]
        return self._from_files[benchmark.name]

    def forms(self, benchmark: Benchmark) -> list[Form]:
        """The forms that the options ask for, in their order."""
        wanted = list(dict.fromkeys([*self.options.what.forms, *self.options.what.form_files]))
        forms = forms_of(benchmark, self.forms_from_files(benchmark), parallel=PARALLEL in wanted)
        every = {form.name: form for form in forms}
        unknown = [name for name in wanted if name not in every]
        if unknown:
            known = ", ".join(dict.fromkeys([ORIGINAL, PARALLEL, *every]))
            raise UsageError(
                f"{benchmark.name} has no form {unknown[0]!r}", remedy=f"It has {known}; bring one with --form."
            )
        return [every[name] for name in wanted]

    def administrations(self, benchmark: Benchmark, respondent: Respondent) -> list[Administration]:
        """The original form in every run, the other forms once; of a recorded respondent, what was recorded."""
        forms = self.forms(benchmark)
        if isinstance(respondent, RecordedRespondent):
            recorded = set(respondent.cells)
            runs = sorted({run for _, run in recorded})
            return [Administration(form, run) for form in forms for run in runs if (form.name, run) in recorded]
        return [
            Administration(f, run)
            for f in forms
            for run in range(self.options.asking.runs if f.name == ORIGINAL else 1)
        ]

    def jobs(self) -> list[Job]:
        """Everything to be asked, respondent by respondent."""
        for benchmark in self.benchmarks:
            benchmark.prepare_images(benchmark.original)
            if not self.respondents(benchmark):
                raise UsageError(
                    f"there is no respondent to answer {benchmark.name}",
                    remedy="Name respondents with --respondent, or recorded answers with --recorded.",
                )
        asking = self.options.asking
        wanted = {"probabilities": asking.probabilities, "retry_refused": asking.retry_refused}
        return [
            plan(self.asks, assignment, administration, **wanted)
            for benchmark in self.benchmarks
            for assignment in self.assignments(benchmark)
            for administration in self.administrations(benchmark, assignment.respondent)
        ]

    def assignments(self, benchmark: Benchmark) -> list[Assignment]:
        """The respondents of this command, each put before a benchmark with the sampling that the options name."""
        sampling = self.options.asking.sampling
        return [assign(respondent, benchmark, sampling) for respondent in self.respondents(benchmark)]

    def check_labels(self) -> None:
        """Read the file of people's labels, so that one that does not fit ends the command before anybody is asked."""
        path = self.options.judging.criterion
        if path is None:
            return
        for benchmark in self.benchmarks:
            names = [respondent.name for respondent in self.respondents(benchmark)]
            benchmark.read_criterion(path, benchmark.original, names or None)

    def engine(self) -> Engine:
        """Who runs the requests, as the options say."""
        machine = self.options.machine
        return make_engine(
            machine.engine,
            workers=machine.workers,
            address=machine.ray_address,
            cpus=machine.ray_cpus,
            gpus=machine.ray_gpus,
        )

    def fetch_images(self) -> None:
        """Get the pictures that lie on the web, where a respondent is going to see them; a plan fetches nothing."""
        for benchmark in self.benchmarks:
            if not self.options.asking.blind and any(r.live for r in self.respondents(benchmark)):
                names = [item.image for item in benchmark.original.items if item.image]
                benchmark.pictures.fetch(names, private=self.options.what.allow_private_images)

    def missing_images(self) -> dict[str, tuple[int, int]]:
        """Benchmark -> how many of its pictures are missing, of how many."""
        missing = {}
        for benchmark in self.benchmarks:
            names = {item.image for item in benchmark.original.items if item.image}
            missing[benchmark.name] = (sum(not benchmark.pictures.has(name) for name in names), len(names))
        return missing

    def stored_respondents(self, benchmark: Benchmark) -> list[StoredRespondent]:
        """The respondents of this command as the store knows them; where none is named, all that the store has."""
        assignments = self.assignments(benchmark)
        return respondents_of(self.store, assignments) if assignments else respondents_in(self.asks, benchmark)

    def evidence(
        self, benchmark: Benchmark, respondents: Sequence[StoredRespondent] | None = None, *, pictures: bool = True
    ) -> Evidence:
        """What an audit of a benchmark looks at, from what the store and the files hold now."""
        options = self.options
        evidence = gather(
            benchmark,
            self.store,
            self.stored_respondents(benchmark) if respondents is None else respondents,
            asks=self.asks,
            forms=self.forms_from_files(benchmark),
            criterion=options.judging.criterion,
            metrics=options.reading.metrics,
            judges=self.judges(benchmark),
            families=read_families(options.who.families) if options.who.families else None,
            pictures=pictures,
        )
        self._label_files[benchmark.name] = list(evidence.labels.files)
        return evidence

    def joined(self, audits: Sequence[BenchmarkAudit], command: str) -> Audit:
        """The audits of all benchmarks as one value, with a warning where their lengths differ, and with the record."""
        confounded = length_confound({audit.benchmark: audit.items for audit in audits})
        return Audit(
            tuple(
                replace(audit, flags=(*audit.flags, confounded[audit.benchmark].to_dict()))
                if audit.benchmark in confounded
                else audit
                for audit in audits
            ),
            command,
            self.record(),
        )

    def record(self) -> dict[str, Any]:
        """What a repetition would need to know: versions, settings, hashes of data and cards."""
        options = self.options
        packages = ("numpy", "pandas", "pillow", "scipy", "torch", "transformers", "openai")
        return {
            "python": platform.python_version(),
            "packages": {name: installed for name in packages if (installed := _version(name))},
            "settings": {
                "runs": options.asking.runs,
                "forms": list(dict.fromkeys([*options.what.forms, *options.what.form_files])),
                "scoring": options.reading.scoring,
                "parser": options.reading.parser,
                "blind": options.asking.blind,
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
                b.name: {
                    "version": b.card.version,
                    "card": b.card.digest,
                    "items": b.original.digest,
                    **({"labels": files} if (files := self._label_files.get(b.name)) else {}),
                }
                for b in self.benchmarks
            },
        }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
