"""Tables, JSON and progress for a terminal, a file or a pipe."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.table import Table

    from hqm.administration.administering import Progress
    from hqm.administration.asks import Job


_PLAIN = ("", "dumb", "unknown")
"""Values of TERM that mean a terminal without control characters."""
_LONG = 40
"""A word of a table may be broken if it is longer than this."""
_WIDE = 120
"""The least width of the output into a file or a pipe."""


def width(stream: TextIO | None = None) -> int:
    """Return the width of the terminal behind a stream; at least 120 for a file or a pipe."""
    stream = stream or sys.stdout
    columns = os.environ.get("COLUMNS", "")
    if not stream.isatty():
        return max(int(columns) if columns.isdecimal() else 0, _WIDE)
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def can_redraw(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can redraw a progress bar."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in _PLAIN


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[int] = (),
    total: Sequence[str] = (),
) -> None:
    """Print a table, the columns numbered in `right` aligned to the right; a row of totals stands
    apart below the others.
    """
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    if total:
        table.add_section()
        table.add_row(*total)
    print_all(table)


def print_report_table(table: Any) -> None:
    """Print a table of a report, its caption where it stands for a metric; the small text under a
    number stands beside it.
    """
    rows = [[_with_small(cell.text, cell.small) for cell in row] for row in table.rows]
    print_table(table.caption, table.titles, rows, right=table.right)


def _with_small(text: str, small: str) -> str:
    """A cell in one line, in which what is no interval stands in brackets."""
    plain = not small or small.startswith(("[", "at least", "no lower end", "above"))
    return f"{text} {small}".rstrip() if plain else f"{text} ({small})"


def print_all(*things: Any) -> None:
    """Print tables and texts in the width of the terminal; print a table that is too wide as a
    list.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(soft_wrap=False, width=width())
    for thing in things:
        if isinstance(thing, str):
            print(
                textwrap.fill(thing, console.width, break_on_hyphens=False)
                if sys.stdout.isatty()
                else thing
            )
        elif isinstance(thing, Table) and not _fits(thing, console.width):
            for line in _as_lists(thing, console.width):
                print(line)
        else:
            # data may hold square brackets: nothing printed here is markup
            console.print(thing, markup=False, highlight=False)


def _fits(table: Table, room: int) -> bool:
    """Return whether every column has room for its longest word."""
    from rich.cells import cell_len

    longest = [
        max(
            (
                cell_len(word)
                for cell in (column.header, *column.cells)
                for word in str(cell).split()
            ),
            default=0,
        )
        for column in table.columns
    ]
    # three columns of blanks stand between two columns, one at either side; a very long word may be
    # broken anywhere
    return sum(min(length, _LONG) for length in longest) + 3 * len(longest) - 1 <= room


def _as_lists(table: Table, room: int) -> Iterator[str]:
    """Yield a table as a list: each row under its first cell, a line for each other cell."""
    if table.title:
        yield from ("", *textwrap.wrap(str(table.title), room))
    headings = [str(column.header) for column in table.columns]
    for cells in zip(*(list(column.cells) for column in table.columns), strict=True):
        yield from ("", *textwrap.wrap(str(cells[0]), room, break_on_hyphens=False))
        for heading, cell in zip(headings[1:], cells[1:], strict=True):
            if str(cell).strip():
                text = f"{heading}: {cell}" if heading.strip() else str(cell)
                yield from textwrap.wrap(
                    text,
                    room,
                    initial_indent="  ",
                    subsequent_indent="    ",
                    break_on_hyphens=False,
                )


def print_lines(*lines: str, to: TextIO | None = None) -> None:
    """Print lines, empty ones left out."""
    for line in filter(None, lines):
        print(line, file=to)


def tell(*sentences: str) -> None:
    """Print sentences on the error stream, under the program's name."""
    print_lines(*(f"hqm: {sentence}" for sentence in sentences), to=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value as JSON, nothing rounded."""
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


# --- progress on the error stream ---

# A pipe, a file, a terminal that cannot move its cursor (TERM=dumb) and the log of a scheduler get
# whole lines without control characters; other terminals get bars with rate and time left.

FIRST, THEN = 5.0, (15.0, 30.0, 60.0)
"""Seconds until the first line about a wait and the next three; then one every minute."""
_LINE = 30.0
"""Seconds between two lines of progress where there are no bars."""


Counted = Callable[[str, int, int], None]
"""A callback with a name, what is done, and the total (0 if it is unknown)."""


def judging(quiet: bool = False) -> AbstractContextManager[Counted]:
    """Show how many questions the judges have been asked while the block runs."""
    return _counting("judge {}", "replies of the judge {}", "replies", quiet)


def downloading(quiet: bool = False) -> AbstractContextManager[Counted]:
    """Show each download's bytes, rate and time left while the block runs."""
    return _counting("{}", "bytes of {}", "bytes", quiet)


@contextmanager
def _counting(bar: str, line: str, of: str, quiet: bool) -> Iterator[Counted]:
    """Show a bar for each name, or a line now and then where there are no bars."""
    if quiet:
        yield lambda _name, _done, _total: None
        return
    if not can_redraw(sys.stderr):
        lines: dict[str, _ProgressLines] = {}

        def say(name: str, done: int, total: int) -> None:
            # a later stage of a judge asks more: the total grows as it becomes known
            total = max(done, total) if total else 0
            lines.setdefault(name, _ProgressLines(line.format(name))).reach(done, total)

        yield say
        return
    with _shown(of) as shown:
        tasks: dict[str, Any] = {}
        totals: Counter[str] = Counter()

        def advance(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = shown.add_task(bar.format(name), total=None)
            totals[name] = max(totals[name], done, total) if total else 0
            shown.update(tasks[name], completed=done, total=totals[name] or None)

        yield advance


@contextmanager
def bars(jobs: Sequence[Job], quiet: bool = False) -> Iterator[Progress]:
    """Show progress while the block runs. Call the yielded function with a job and new answers."""
    sizes = Counter[str]()
    for job in jobs:
        sizes[_name(job)] += len(job.todo)
    done = Counter[str]()
    redraws = can_redraw(sys.stderr)
    with _counting("{}", "answers", "answers", quiet or not sizes.total()) as show:
        show("all", 0, sizes.total())

        def advance(job: Job, count: int) -> None:
            name = _name(job)
            done[name] += count
            if redraws:  # a bar appears when its respondent's turn comes
                show(name, done[name], sizes[name])
            show("all", done.total(), sizes.total())

        yield advance


@contextmanager
def telling_of_waits(quiet: bool = False) -> Iterator[None]:
    """While the block runs, print what takes long and since when."""
    from hqm.respondents.base import listening

    if quiet:
        yield
        return
    waits: Counter[str] = Counter()
    ended: dict[str, threading.Event] = {}

    def hear(what: str, begins: bool) -> None:
        # several workers may load one model
        waits[what] += 1 if begins else -1
        if begins and waits[what] == 1:
            ended[what] = threading.Event()
            threading.Thread(target=_tell, args=(what, ended[what]), daemon=True).start()
        elif not begins and not waits[what]:
            ended.pop(what).set()

    with listening(hear):
        yield


def _tell(what: str, ended: threading.Event) -> None:
    began = time.monotonic()
    for wanted in _times():
        if ended.wait(max(0.0, began + wanted - time.monotonic())):
            if wanted != FIRST:
                print(
                    f"hqm: {what}: done after {_duration(time.monotonic() - began)}",
                    file=sys.stderr,
                    flush=True,
                )
            return
        print(
            f"hqm: {what}: {_duration(time.monotonic() - began)} so far",
            file=sys.stderr,
            flush=True,
        )


def _times() -> Iterator[float]:
    yield FIRST
    yield from THEN
    last = THEN[-1]
    while True:
        last += 60.0
        yield last


def _duration(seconds: float) -> str:
    """Write a duration in hours, minutes or seconds.

    >>> _duration(7.4), _duration(75), _duration(7500)
    ('7 s', '1 min 15 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60} s"
        if whole < 3600
        else f"{whole // 3600} h {whole % 3600 // 60} min"
    )


class _ProgressLines:
    """Progress as a line now and then."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._began = self._last = time.monotonic()

    def reach(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last < _LINE or not done:
            return
        self._last = now
        rate = done / (now - self._began)
        left = f", about {_duration((total - done) / rate)} left" if total > done else ""
        of = f" of {total:,}" if total else ""
        print(f"hqm: {done:,}{of} {self.what}, {rate:,.1f}/s{left}", file=sys.stderr, flush=True)


# --- bars, as many columns as the terminal has room for ---


@contextmanager
def _shown(of: str) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import Progress as Bars

    room = width(sys.stderr)
    with Bars(
        *_columns(of, room), console=Console(file=sys.stderr, width=room), expand=True
    ) as shown:
        yield shown


def _columns(of: str, room: int) -> list[Any]:
    """The columns of a bar: of answers, of a judge's replies, or of bytes."""
    from rich import progress
    from rich.table import Column
    from rich.text import Text

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="cyan")

    # a long name loses its end before a number does
    first = Column(no_wrap=True, overflow="ellipsis", ratio=1, min_width=8)
    return [
        progress.TextColumn("{task.description}", table_column=first),
        *([progress.BarColumn(bar_width=24 if room >= 80 else 10)] if room >= 60 else []),
        progress.DownloadColumn() if of == "bytes" else progress.MofNCompleteColumn(),
        *([progress.TransferSpeedColumn()] if of == "bytes" and room >= 80 else []),
        *([Rate()] if of == "answers" and room >= 72 else []),
        *([progress.TimeRemainingColumn(compact=True)] if of != "replies" else []),
    ]


def _name(job: Job) -> str:
    return f"{job.assignment.respondent.name} · {job.administration.form.name}"
