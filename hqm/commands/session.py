"""One command's work: benchmarks, respondents and a store, from their names to the audits."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hqm.administration.administer import Administration, Desk, Job, StoredRespondent
from hqm.administration.engines import Engine, make_engine
from hqm.administration.holdings import cells_in, forms_of, people_in, people_of
from hqm.auditing.auditor import audit
from hqm.auditing.families import read_families
from hqm.auditing.value import Audit
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.recorded import Recording, read_recordings
from hqm.benchmark.registry import load_all
from hqm.commands.options import RunOptions
from hqm.errors import HQMError, UsageError
from hqm.forms.build import read_form
from hqm.indicators.flags import length_confound
from hqm.judges.desk import Judged, JudgeDesk, Progress
from hqm.judges.panel import Panel, parse_roles
from hqm.respondents import make_respondent
from hqm.respondents.base import Respondent, RespondentName
from hqm.respondents.recorded import RecordedRespondent
from hqm.store.database import Store
from hqm.types import ORIGINAL, Form


class Session:
    """Benchmarks by name, put to respondents by name, over one store.

    Raises
    ------
    UsageError
        A name or option means nothing, or nobody is there to answer.
    """

    def __init__(self, names: Sequence[str], store: Store, options: RunOptions) -> None:
        self.store, self.options = store, options
        self.desk = Desk(store, blind=options.asking.blind, probabilities=options.asking.probabilities)
        what, reading, judging = options.what, options.reading, options.judging
        settings = {"data": what.data, "images": what.images, "scoring": reading.scoring, "parser": reading.parser}
        settings |= {"prompts": judging.prompts, "mode": judging.mode, "words": reading.words}
        self.benchmarks = [benchmark for name in names for benchmark in load_all(name, **settings)]
        repeated = {b.name for b in self.benchmarks if sum(b.name == other.name for other in self.benchmarks) > 1}
        if repeated:
            raise UsageError(f"{', '.join(sorted(repeated))} is named twice", remedy="Name every benchmark once.")
        for benchmark in self.benchmarks:
            if options.what.part or options.what.limit:
                benchmark.original = self._cut(benchmark, benchmark.original)
        self._respondents: dict[str, list[Respondent]] = {}
        self._made: dict[str, Respondent] = {}
        self._brought: dict[str, list[Form]] = {}

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
            found: list[Respondent] = [r for path in paths for r in self._recorded(benchmark, path)]
            found += [self._live(name) for name in live]
            self._respondents[benchmark.name] = found
        return self._respondents[benchmark.name]

    def _live(self, name: str) -> Respondent:
        # one object a name, so that a model is loaded once for all benchmarks
        if name not in self._made:
            machine = self.options.machine
            self._made[name] = make_respondent(
                name, device=machine.device, dtype=machine.dtype, batch=machine.batch, vllm=machine.vllm
            )
        return self._made[name]

    def _recorded(self, benchmark: Benchmark, path: Path) -> list[Respondent]:
        recordings = benchmark.recordings(path)
        if recordings is None:
            recordings = read_recordings(path, {form.name: form for form in self.forms(benchmark)})
        # what nobody was asked is no part of what was administered
        asked = {key for one in recordings for key in one.answers}
        benchmark.original = replace(
            benchmark.original, items=tuple(i for i in benchmark.original.items if i.id in asked)
        )
        by_name: dict[str, list[Recording]] = {}
        for one in recordings:
            by_name.setdefault(one.respondent, []).append(one)
        return [RecordedRespondent(f"recorded/{name}", mine) for name, mine in by_name.items()]

    # --- who judges ---

    def panels(self, benchmark: Benchmark) -> list[JudgeDesk]:
        """The judges wished for, before one benchmark; none for a benchmark that a rule scores.

        Raises
        ------
        UsageError
            The benchmark is judged, and no judge is named.
        """
        if not benchmark.roles:
            return []
        if not self.options.judging.judges:
            raise UsageError(
                f"the answers to {benchmark.name} are judged by a model, and none is named",
                remedy="Name it with --judge, for example --judge openai/<model>.",
            )
        others = {role: self._judge(name) for role, name in parse_roles(self.options.judging.roles).items()}
        used = {role: one for role, one in others.items() if role in benchmark.roles}
        return [JudgeDesk(self.desk, benchmark, Panel(self._judge(name), used)) for name in self.options.judging.judges]

    def _judge(self, name: str) -> Respondent:
        if name.startswith("recorded/"):
            raise UsageError("a file cannot judge", place=name, remedy="Score it with `hqm score --judgements`.")
        return self._live(name)

    def judge(self, progress: Progress | None = None) -> Judged:
        """Put every stored answer to the judges, and the reference administration again as often as wished."""
        asked = errors = 0
        failed: list[tuple[str, HQMError]] = []
        for benchmark in self.benchmarks:
            panels = self.panels(benchmark)
            people = self.people(benchmark) if panels else []
            forms = {form.name: form for form in forms_of(benchmark, self.brought(benchmark))}
            cells = cells_in(self.store, self.desk, benchmark, list(forms.values()), people) if panels else []
            for cell in cells:
                form, rows = forms[cell.form], self.desk.rows(benchmark, forms[cell.form], people, cell.run)
                reference = cell.form == ORIGINAL and cell.run == 0
                for i, panel in enumerate(panels if reference else panels[:1]):
                    for asking in range(self.options.judging.rejudge if reference and i == 0 else 1):
                        done = panel.judge(form, rows, asking, progress)
                        asked, errors = asked + done.asked, errors + done.errors
                        failed += [pair for pair in done.failed if pair[0] not in dict(failed)]
        return Judged(asked, errors, tuple(failed))

    def pending_judgements(self) -> dict[str, int]:
        """Judge -> how many questions about the answers stored so far it has not replied to."""
        found: dict[str, int] = {}
        for benchmark in self.benchmarks if self.options.judging.judges else ():
            for panel in self.panels(benchmark):
                people = self.people(benchmark)
                rows = self.desk.rows(benchmark, benchmark.original, people, 0)
                count = panel.pending(benchmark.original, rows) if people else 0
                found[panel.panel.label] = found.get(panel.panel.label, 0) + count
        return found

    # --- what ---

    def brought(self, benchmark: Benchmark) -> list[Form]:
        """The forms a person brought as files."""
        if benchmark.name not in self._brought:
            files = self.options.what.form_files.items()
            self._brought[benchmark.name] = [read_form(path, benchmark.original, name) for name, path in files]
        return self._brought[benchmark.name]

    def forms(self, benchmark: Benchmark) -> list[Form]:
        """The forms wished for, the original first."""
        every = {form.name: form for form in forms_of(benchmark, self.brought(benchmark))}
        wanted = list(dict.fromkeys([*self.options.what.forms, *self.options.what.form_files]))
        unknown = [name for name in wanted if name not in every]
        if unknown:
            raise UsageError(
                f"{benchmark.name} has no form {unknown[0]!r}",
                remedy=f"It has {', '.join(every)}; bring one with --form.",
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
                    f"nobody is there to answer {benchmark.name}",
                    remedy="Name respondents with --respondent, or recorded answers with --recorded.",
                )
        found = []
        for benchmark in self.benchmarks:
            for respondent in self.respondents(benchmark):
                sitting = self.desk.sitting(respondent, benchmark, self.options.asking.sampling)
                found += [self.desk.plan(sitting, one) for one in self.administrations(benchmark, respondent)]
        return found

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
        """Get the pictures that lie on the web, where anybody is going to look at them; a plan fetches nothing."""
        for benchmark in self.benchmarks:
            if not self.options.asking.blind and any(r.live for r in self.respondents(benchmark)):
                benchmark.pictures.fetch(item.image for item in benchmark.original.items if item.image)

    def missing_images(self) -> dict[str, tuple[int, int]]:
        """Benchmark -> how many of its pictures are missing, of how many."""
        found = {}
        for benchmark in self.benchmarks:
            names = {item.image for item in benchmark.original.items if item.image}
            found[benchmark.name] = (sum(not benchmark.pictures.has(name) for name in names), len(names))
        return found

    def people(self, benchmark: Benchmark) -> list[StoredRespondent]:
        """The respondents of this command as the store knows them; without any named, everyone in the store."""
        sittings = [self.desk.sitting(r, benchmark, self.options.asking.sampling) for r in self.respondents(benchmark)]
        return people_of(self.store, sittings) if sittings else people_in(self.store, self.desk, benchmark)

    def audit(self, command: str) -> Audit:
        """Audit every benchmark from what the store holds now."""
        audits = tuple(
            audit(
                benchmark,
                self.desk,
                self.people(benchmark),
                forms=self.brought(benchmark),
                criterion=self.options.judging.criterion,
                metrics=self.options.reading.metrics,
                judges=self.panels(benchmark),
                families=read_families(self.options.who.families) if self.options.who.families else None,
            )
            for benchmark in self.benchmarks
        )
        confounded = length_confound({one.benchmark: one.items for one in audits})
        audits = tuple(
            replace(one, flags=(*one.flags, confounded[one.benchmark].to_dict()))
            if one.benchmark in confounded
            else one
            for one in audits
        )
        return Audit(audits, command, self.record())

    def record(self) -> dict[str, Any]:
        """What a repetition would need to know: versions, settings, hashes of data and cards."""
        options = self.options
        packages = ("numpy", "pandas", "pillow", "scipy", "torch", "transformers", "openai")
        return {
            "python": platform.python_version(),
            "packages": {name: found for name in packages if (found := _version(name))},
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
                "sampling": dict(options.asking.sampling),
            },
            "benchmarks": {
                b.name: {"version": b.card.version, "card": b.card.digest, "items": b.original.digest}
                for b in self.benchmarks
            },
        }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
