"""The respondents of a session: the models that are asked, and those recorded in files, with the
benchmark that recorded answers belong to where a command audits several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, filterfalse
from pathlib import Path

from hqm.administration.costs import prices_of
from hqm.administration.exported_answers import read_recorded_answers
from hqm.administration.stored_answers import forms_by_name
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.items import restrict_form
from hqm.commands.options import AnsweringOptions, RunOptions
from hqm.commands.session_forms import SessionForms
from hqm.errors import AnswerError, HQMError, UsageError
from hqm.files.memory import MAX_BYTES, FileMemory
from hqm.imports.intake import plain_letters
from hqm.imports.log_answers import ImportedLogs, LogSettings
from hqm.imports.log_file import files_in
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


Routes = dict[str, list[Path]]
"""Benchmark -> the files and folders of answers to it."""


def _routes_to(benchmarks: Iterable[str], path: Path) -> Routes:
    """One file or folder for each of these benchmarks."""
    return {benchmark: [path] for benchmark in benchmarks}


@dataclass(frozen=True, slots=True)
class Router:
    """Sends files and folders of recorded answers to the benchmarks that they answer.

    Parameters
    ----------
    names
        The name of a benchmark or of a group, as the command names it -> the names of its
        benchmarks.
    count_answers
        How many answers to a benchmark, and of how many items, a file holds; an error where it is
        no file of answers to it.
    notes
        Sentences on files that are left out; more are added.
    """

    names: Mapping[str, Sequence[str]]
    count_answers: Callable[[str, Path], tuple[int, int]]
    notes: list[str] = field(default_factory=list)

    @property
    def benchmarks(self) -> list[str]:
        """The names of all benchmarks, each once."""
        return list(dict.fromkeys(chain.from_iterable(self.names.values())))

    def route(self, sources: Sequence[Path]) -> Routes:
        """Send each source to the benchmark that is named before it (`pope=FILE`), else to the one
        whose items its rows answer.

        Raises
        ------
        AnswerError
            A file answers no benchmark of the command, or may answer several.
        UsageError
            The name before a file is none of a benchmark of the command.
        """
        routes: Routes = defaultdict(list)
        for source in sources:
            name, path = self._split_name(source)
            if name:
                path_routes = _routes_to(self.names[name], path)
            elif len(self.benchmarks) == 1:
                path_routes = _routes_to(self.benchmarks, path)
            else:
                path_routes = self._route_path(path)
            for benchmark, paths in path_routes.items():
                routes[benchmark] += paths
        return dict(routes)

    def _split_name(self, source: Path) -> tuple[str, Path]:
        """The name before a source, if any, and the source itself."""
        name, equals, path = str(source).partition("=")
        known_names = dict.fromkeys([*self.benchmarks, *self.names])
        # a path may hold an equals sign, and a file of that name is meant then
        if not equals or source.exists() or "/" in name:
            return "", source
        if name not in known_names:
            raise UsageError(
                f"--recorded {source} names {name!r}, which this command does not audit",
                remedy=f"It audits {', '.join(known_names)}.",
                name=name,
                choices=known_names,
            )
        # A member of a group stands for the group, which the command named.
        return (name if name in self.names else self._group_of(name)), Path(path)

    def _group_of(self, benchmark: str) -> str:
        return next(name for name, members in self.names.items() if benchmark in members)

    def _groups_of(self, benchmarks: Iterable[str]) -> set[str]:
        return set(map(self._group_of, benchmarks))

    def _route_path(self, path: Path) -> Routes:
        """Send a file, or the files of a folder; a folder of answers to one benchmark stays
        whole, as its benchmark may read several files together.
        """
        if not path.is_dir():
            return self._route_file(path)
        # A folder often holds notes and scripts too: they are left out with a sentence unless
        # nothing else is there.
        routes, faults = self._route_folder(path)
        if not routes:
            raise (
                faults[0]
                if faults
                else AnswerError("the folder has no file of answers", location=str(path))
            )
        for fault in faults:
            self.notes.append(f"{fault.location} is left out: {fault.message}")
        return routes

    def _route_folder(self, folder: Path) -> tuple[Routes, list[HQMError]]:
        routes: Routes = defaultdict(list)
        faults: list[HQMError] = []
        answer_files = set(files_in(folder))
        for child in sorted(folder.iterdir()):
            child_routes: Routes = {}
            if child.is_dir():
                child_routes, child_faults = self._route_folder(child)
                faults += child_faults
            elif child in answer_files:
                try:
                    child_routes = self._route_file(child)
                except HQMError as fault:
                    faults.append(fault)
            for benchmark, paths in child_routes.items():
                routes[benchmark] += paths
        # The reader of one benchmark gets the folder itself: a release may spread answers over its
        # files.
        if len(self._groups_of(routes)) == 1 and not faults:
            return _routes_to(routes, folder), []
        return dict(routes), faults

    def _route_file(self, path: Path) -> Routes:
        """Send a file to the benchmark that can read it; of several, to the one that the file's
        name names, or all of whose items it answers.
        """
        counts: dict[str, tuple[int, int]] = {}
        faults: list[tuple[str, HQMError]] = []
        for benchmark in self.benchmarks:
            try:
                n_answers, n_items = self.count_answers(benchmark, path)
            except HQMError as fault:
                # The readers of other benchmarks refuse a file, which shows whose it is not.
                faults.append((benchmark, fault))
                continue
            if n_answers:
                counts[benchmark] = (n_answers, n_items)
        if not counts:
            raise self._refusal(path, faults)
        units = self._likeliest_units(path, counts)
        if len(units) > 1:
            raise AnswerError(
                f"its rows may answer {' or '.join(sorted(counts))}",
                location=str(path),
                remedy=f"Name the benchmark: --recorded {next(iter(counts))}={path}.",
            )
        return _routes_to([name for name in counts if self._group_of(name) in units], path)

    def _likeliest_units(self, path: Path, counts: Mapping[str, tuple[int, int]]) -> set[str]:
        """Of the benchmarks that can read a file, the group of the one that its name names, all
        of whose items it answers, or of which it answers most; all groups where neither decides.
        """
        letters = plain_letters(path.name)
        max_count = max(counts.values())
        # The first rule that leaves one group decides: there is one, the file's name, all items,
        # most answers.
        candidates = (
            list(counts),
            [name for name in counts if plain_letters(name) in letters],
            [name for name, (n_answers, n_items) in counts.items() if n_answers == n_items],
            [name for name, count in counts.items() if count == max_count],
        )
        for names in candidates:
            units = self._groups_of(names)
            if len(units) == 1:
                return units
        return self._groups_of(counts)

    def _refusal(self, path: Path, faults: Sequence[tuple[str, HQMError]]) -> AnswerError:
        """The error on a file that answers no benchmark, with the reason of the benchmark that its
        name names, else of the first.
        """
        letters = plain_letters(path.name)
        likeliest = [pair for pair in faults if plain_letters(pair[0]) in letters]
        no_fault = ("", AnswerError("it has no answer"))
        benchmark, fault = next(iter([*likeliest, *faults]), no_fault)
        reason = fault.message.removesuffix(".")
        return AnswerError(
            f"it answers none of {', '.join(self.benchmarks)}; {benchmark}: {reason}",
            location=str(path),
            remedy="Name the benchmark to see its reason alone: --recorded NAME=FILE.",
        )
