"""Which benchmark recorded answers belong to, where a command audits several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from hqm.errors import AnswerError, HQMError, UsageError
from hqm.imports.intake import plain_letters
from hqm.imports.log_file import files_in

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
