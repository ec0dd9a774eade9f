"""Files of recorded answers, whoever wrote them: a release's own format, HQM's, the logs of other
tools, tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hqm.benchmark.adapter import Adapter, Benchmark
from hqm.errors import HQMError
from hqm.imports.detect import written_by_tool
from hqm.imports.log_answers import LogSettings, Taken, take_logs
from hqm.imports.recordings import Recording, read_recordings
from hqm.types import ORIGINAL, Form


@dataclass(frozen=True, slots=True)
class Recorded:
    """What files of answers gave."""

    recordings: tuple[Recording, ...]
    taken: Taken | None = None
    """How the rows of logs were matched, where there were logs."""


def read_recorded(
    benchmark: Benchmark, paths: Sequence[Path], forms: Mapping[str, Form], settings: LogSettings
) -> Recorded:
    """The recorded administrations in files, each read by the first format that it fits.

    Parameters
    ----------
    benchmark
        Whose release may have formats of its own.
    forms
        Those that may have been asked, by name.

    Raises
    ------
    HQMError
        A file fits no format; the sentence is that of the likeliest one.
    """
    recordings: list[Recording] = []
    logs = []
    for path in paths:
        released = benchmark.recordings(path)
        if released is not None:
            recordings += released
        elif path.exists() and written_by_tool(path):
            logs.append(path)
        else:
            recordings += _plain_or_released(benchmark, path, forms)
    taken = take_logs(forms, logs, settings, benchmark.spelled) if logs else None
    return Recorded((*recordings, *(taken.recordings if taken else ())), taken)


def _plain_or_released(
    benchmark: Benchmark, path: Path, forms: Mapping[str, Form]
) -> Sequence[Recording]:
    """The answers of a file in HQM's format, else in that which the release scores."""

    def released() -> Sequence[Recording]:
        _, answers = benchmark.read_answers(path, forms[ORIGINAL])
        return [Recording(path.stem, ORIGINAL, 0, answers, str(path))]

    readers: list[Callable[[], Sequence[Recording]]] = [
        lambda: read_recordings(path, forms, benchmark.spelled)
    ]
    if type(benchmark).read_answers is not Adapter.read_answers and not path.is_dir():
        readers.append(released)
    faults = []
    for read in readers:
        try:
            return read()
        except HQMError as fault:
            faults.append(fault)
    raise faults[0]
