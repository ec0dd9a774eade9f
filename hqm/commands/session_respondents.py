"""The respondents of a session: the models that are asked, and those recorded in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import filterfalse
from pathlib import Path

from hqm.administration.costs import prices_of
from hqm.administration.exported_answers import read_recorded_answers
from hqm.administration.stored_answers import forms_by_name
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.items import restrict_form
from hqm.commands.options import AnsweringOptions, RunOptions
from hqm.commands.recorded_routes import Router, Routes
from hqm.commands.session_forms import SessionForms
from hqm.errors import UsageError
from hqm.files.memory import MAX_BYTES, FileMemory
from hqm.imports.log_answers import ImportedLogs, LogSettings
from hqm.imports.recordings import Recording, perfect_respondents
from hqm.respondents import make_respondent
from hqm.respondents.base import RecordedRespondent, Respondent, RespondentName
from hqm.respondents.kinds import is_recorded, kind_of
from hqm.respondents.server_limits import Budget
from hqm.types import ORIGINAL, Form, Item


def recorded_sources(options: AnsweringOptions) -> list[Path]:
    """Return the files and folders of recorded answers that the options name."""
    recorded = filter(is_recorded, options.respondents)
    paths = [Path(RespondentName.parse(name).target) for name in recorded]
    return paths + list(options.recorded)


class SessionRespondents:
    """The respondents of each benchmark of a session. Files are read, and models loaded, once.

    Parameters
    ----------
    options
        The options of the command.
    sources
        The files and folders of recorded answers that the options name.
    members
        The name of a benchmark or of a group, as the command names it -> the names of its
        benchmarks.
    full_benchmarks
        Benchmark -> the whole benchmark, to whose items recorded answers are matched.
    forms
        The forms of the session.
    budget
        The bounds of the command.
    notes
        Sentences for the user about what was read; more are added.
    """

    def __init__(
        self,
        options: RunOptions,
        sources: Sequence[Path],
        members: Mapping[str, Sequence[str]],
        full_benchmarks: Mapping[str, Benchmark],
        forms: SessionForms,
        budget: Budget,
        notes: list[str],
    ) -> None:
        self.options = options
        self.full_benchmarks = full_benchmarks
        self.forms = forms
        self.budget = budget
        self.notes = notes
        self.sources = sources
        self.logs = LogSettings(partial=options.answering.partial, files=options.answering.files)
        self.imported_answers: dict[str, ImportedLogs] = {}
        """Benchmark -> the answers taken from logs of other tools."""
        self.loaded: dict[str, list[Respondent]] = {}
        """Benchmark -> its respondents, once they were asked for."""
        self._live: dict[str, Respondent] = {}
        self._router = Router(members, self._count_answers)
        self._routes: Routes | None = None
        # One benchmark reads its files once anyway; of several, each looks at every file.
        self._memory = FileMemory(MAX_BYTES if len(full_benchmarks) > 1 else 0)

    def of(self, benchmark: Benchmark) -> list[Respondent]:
        """Return the respondents of a benchmark: those named, else the embedded ones."""
        if benchmark.name not in self.loaded:
            answering = self.options.answering
            live = list(filterfalse(is_recorded, answering.respondents))
            paths = self._recorded_routes().get(benchmark.name, [])
            # nobody is named, and no file: the models that come with the benchmark answer
            if not live and not self.sources:
                live = list(benchmark.card.respondents.embedded)
            respondents: list[Respondent] = []
            # a benchmark that was made from a log brings the answers of the log
            if paths or benchmark.included_recordings:
                with self._memory.active():
                    respondents += self._recorded(benchmark, paths)
            respondents += map(self.live, live)
            self.loaded[benchmark.name] = respondents
        return self.loaded[benchmark.name]

    def live(self, name: str) -> Respondent:
        """Return the respondent that answers under this name, one object for all benchmarks.

        Raises
        ------
        UsageError
            `--max-cost` bounds the cost, and the price of the respondent is not known.
        """
        if name not in self._live:
            compute = self.options.compute
            self._live[name] = make_respondent(
                name,
                device=compute.device,
                dtype=compute.dtype,
                batch=0 if compute.batch == "yes" else compute.batch,
                batch_api=compute.batch == "yes",
                vllm=compute.vllm,
                concurrency=compute.concurrency,
            )
            self._check_price(self._live[name])
        return self._live[name]

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

    def _recorded_routes(self) -> Routes:
        """The recorded answers of each benchmark."""
        if self._routes is None:
            with self._memory.active():
                self._routes = self._router.route(self.sources)
            self.notes += self._router.notes
            if len(self.full_benchmarks) > 1:
                for name, paths in self._routes.items():
                    self.notes.append(f"{name}: {', '.join(map(str, paths))}.")
        return self._routes

    def _count_answers(self, name: str, path: Path) -> tuple[int, int]:
        """How many answers to a benchmark a file of recorded answers holds, and how many it would
        hold if all items of the answered parts were answered.
        """
        benchmark = self.full_benchmarks[name]
        recordings = read_recorded_answers(
            benchmark, [path], self.forms.readable(benchmark), self.logs
        ).recordings
        n_answers = sum(len(recording.answers) for recording in recordings)
        n_items = len(_answered_parts(benchmark.original, recordings))
        return n_answers, n_items * len(recordings)

    def _recorded(self, benchmark: Benchmark, paths: Sequence[Path]) -> list[Respondent]:
        """Read recorded answers, and leave out of the benchmark the parts that nobody answered."""
        # A file is matched to the whole benchmark, and cut afterwards: otherwise its rows about
        # other parts would be unmatched.
        is_cut = bool(self.options.material.part or self.options.material.limit)
        full_benchmark = self.full_benchmarks[benchmark.name] if is_cut else benchmark
        full_forms = self.forms.readable(full_benchmark)
        recorded = read_recorded_answers(full_benchmark, paths, full_forms, self.logs)
        # An adapter leaves in the form what the files were asked about, of which the limit counts.
        if is_cut and not benchmark.original.by_id.keys() <= full_benchmark.original.by_id.keys():
            material = self.options.material
            benchmark.original = restrict_form(
                full_benchmark.original, benchmark.name, material.part, material.limit
            )
        recorded_forms = {recording.form for recording in recorded.recordings}
        self.forms.recorded[benchmark.name] = recorded_forms & full_forms.keys()
        forms = forms_by_name(self.forms.named(benchmark))
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


def _answered_parts(form: Form, recordings: Iterable[Recording]) -> tuple[Item, ...]:
    """The items of those parts of a form of which anything was answered."""
    answered: set[str] = set()
    for recording in recordings:
        answered.update(recording.answers)
    parts = {item.part for item in form.items if item.id in answered}
    return form.select_part(*parts).items


def _restrict_recording(recording: Recording, form: Form) -> Recording:
    """Restrict a recording to the items of a form."""
    return replace(
        recording,
        answers={key: answer for key, answer in recording.answers.items() if key in form.by_id},
    )
