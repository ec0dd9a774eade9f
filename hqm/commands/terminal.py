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
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from hqm.text import visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn
    from rich.table import Table

    from hqm.administration.administering import Progress
    from hqm.administration.asks import Job
    from hqm.errors import HQMError


_PLAIN_TERMINALS = ("", "dumb", "unknown")
"""Values of TERM that mean a terminal without control characters."""
_MAX_UNBROKEN_CHARS = 40
"""A word of a table may be broken if it is longer than this."""
_MIN_FILE_WIDTH = 120
"""The least width of the output into a file or a pipe."""


def width(stream: TextIO | None = None) -> int:
    """Return the width of the terminal behind a stream; at least 120 for a file or a pipe."""
    stream = stream or sys.stdout
    columns = os.environ.get("COLUMNS", "")
    # A log or a file has no width, and lines broken for a narrow window are hard to search there.
    if not stream.isatty():
        return max(int(columns) if columns.isdecimal() else 0, _MIN_FILE_WIDTH)
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        # Some terminals report a width of 0.
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def can_redraw(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can redraw a progress bar."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in _PLAIN_TERMINALS


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")
    # IPython is looked up and not imported: where it runs, it is loaded. Its shell in a terminal
    # has no kernel.
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[int] = (),
    total: Sequence[str] = (),
) -> None:
    """Print a table with the columns numbered in `right` aligned to the right.

    A row of totals is set off below the others.
    """
    from rich import box
    from rich.table import Table

    table = Table(
        title=visible(title) or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for i, column in enumerate(map(visible, columns)):
        table.add_column(column, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(visible, row))
    if total:
        table.add_section()
        table.add_row(*map(visible, total))
    print_all(table)


def print_report_table(table: Any) -> None:
    """Print a table of a report; the small text of a cell follows its number in the same line."""

    def texts(row: Any) -> list[str]:
        return [_with_small(cell.text, cell.small) for cell in row]

    rows = list(map(texts, table.rows))
    print_table(table.caption, table.titles, rows, right=table.right)


def _with_small(text: str, small: str) -> str:
    """Return a cell as one line, with text that is no interval in brackets."""
    plain = not small or small.startswith(("[", "at least", "no lower end", "above"))
    if plain:
        return f"{text} {small}".rstrip()
    return f"{text} ({small})"


def print_all(*renderables: object) -> None:
    """Print tables and texts in the width of the terminal; print a table that is too wide as a
    list.
    """
    from rich.console import Console
    from rich.table import Table

    # data may hold square brackets and names of emoji: nothing printed here is markup
    console = Console(soft_wrap=False, width=width(), markup=False, emoji=False, highlight=False)
    for renderable in renderables:
        if isinstance(renderable, str):
            print_lines(
                textwrap.fill(renderable, console.width, break_on_hyphens=False)
                if sys.stdout.isatty()
                else renderable
            )
        elif isinstance(renderable, Table) and not _fits(renderable, console.width):
            for line in _as_lists(renderable, console.width):
                print_line(line)
        else:
            console.print(renderable)


def _fits(table: Table, line_width: int) -> bool:
    """Return whether every column has room for its longest word."""
    from rich.cells import cell_len

    # three columns of blanks stand between two columns, one at either side; a very long word may be
    # broken anywhere
    needed_width = 3 * len(table.columns) - 1
    for column in table.columns:
        words = " ".join(map(str, (column.header, *column.cells))).split()
        needed_width += min(max(map(cell_len, words), default=0), _MAX_UNBROKEN_CHARS)
    return needed_width <= line_width


def _as_lists(table: Table, line_width: int) -> Iterator[str]:
    """Yield a table as a list: each row under its first cell, a line for each other cell."""
    if table.title:
        yield from ("", *textwrap.wrap(str(table.title), line_width))
    headings = [str(column.header) for column in table.columns]
    for cells in zip(*(list(column.cells) for column in table.columns), strict=True):
        yield from ("", *textwrap.wrap(str(cells[0]), line_width, break_on_hyphens=False))
        for heading, cell in zip(headings[1:], cells[1:], strict=True):
            if str(cell).strip():
                text = f"{heading}: {cell}" if heading.strip() else str(cell)
                yield from textwrap.wrap(
                    text,
                    line_width,
                    initial_indent="  ",
                    subsequent_indent="    ",
                    break_on_hyphens=False,
                )


def print_line(line: str = "", to: TextIO | None = None, end: str = "\n") -> None:
    """Print a line, or several; what would act on the terminal is shown as an escape."""
    print(visible(line), file=to, end=end)


def print_lines(*lines: str, to: TextIO | None = None, prefix: str = "") -> None:
    """Print lines with a prefix each, empty ones left out."""
    for line in filter(None, lines):
        print_line(f"{prefix}{line}", to)


def tell(*sentences: str) -> None:
    """Print sentences on the error stream, under the program's name."""
    print_lines(*sentences, to=sys.stderr, prefix="hqm: ")


def tell_failures(subject: str, failed: Iterable[tuple[str, HQMError]]) -> None:
    """Print which respondents could not go on, and why."""
    for name, error in failed:
        tell(f"{subject}{name} was given up: {error}")


def print_json(value: object) -> None:
    """Print a value as JSON, nothing rounded."""
    # NaN and Infinity are no JSON: a number that is not finite must have become null before.
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


# --- progress on the error stream ---

# A pipe, a file, a terminal that cannot move its cursor (TERM=dumb) and the log of a scheduler get
# whole lines without control characters; other terminals get bars with rate and time left.

FIRST_WAIT = 5.0
NEXT_WAITS = (15.0, 30.0, 60.0)
"""Seconds until the first line about a wait and the next three; then one every minute."""
_LINE_INTERVAL = 30.0
"""Seconds between two lines of progress where there are no bars."""


_NOTEBOOK_INTERVAL = 0.2
"""Seconds between two states of the bars of a notebook."""


Counted = Callable[[str, int, int], None]
"""A callback with a name, what is done, and the total (0 if it is unknown)."""


def judging(quiet: bool = False) -> AbstractContextManager[Counted]:
    """Show how many questions the judges have been asked while the block runs."""
    return _counting("judge {}", "replies of the judge {}", "replies", quiet)


def downloading(quiet: bool = False) -> AbstractContextManager[Counted]:
    """Show each download's bytes, rate and time left while the block runs."""
    return _counting("{}", "bytes of {}", "bytes", quiet)


@contextmanager
def _counting(bar: str, line: str, unit: str, quiet: bool) -> Iterator[Counted]:
    """Show a bar for each name, or a line now and then where there are no bars."""
    if quiet:
        yield lambda _name, _n_done, _total: None
        return
    # a log of a scheduler would hold a line for each step of a bar
    if not is_notebook() and not can_redraw(sys.stderr):
        lines: dict[str, _ProgressLines] = {}

        def say(name: str, n_done: int, total: int) -> None:
            # A later stage of a judge asks more: the total grows as it becomes known.
            total = max(n_done, total) if total else 0
            lines.setdefault(name, _ProgressLines(line.format(name))).reach(n_done, total)

        yield say
        return
    with _NotebookBars.open_bars() if is_notebook() else _open_bars(unit) as progress_bars:
        tasks: dict[str, Any] = {}
        totals: Counter[str] = Counter()

        def advance(name: str, n_done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress_bars.add_task(visible(bar.format(name)), total=None)
            totals[name] = max(totals[name], n_done, total) if total else 0
            progress_bars.update(tasks[name], completed=n_done, total=totals[name] or None)

        yield advance


@contextmanager
def bars(jobs: Sequence[Job], quiet: bool = False) -> Iterator[Progress]:
    """Show progress while the block runs. Call the yielded function with a job and new answers."""
    sizes = Counter[str]()
    for job in jobs:
        sizes[_name(job)] += len(job.todo)
    n_done = Counter[str]()
    redraws = is_notebook() or can_redraw(sys.stderr)
    with _counting("{}", "answers", "answers", quiet or not sizes.total()) as show_progress:
        show_progress("all", 0, sizes.total())

        def advance(job: Job, count: int) -> None:
            name = _name(job)
            n_done[name] += count
            if redraws:  # a bar appears when its respondent's turn comes
                show_progress(name, n_done[name], sizes[name])
            show_progress("all", n_done.total(), sizes.total())

        yield advance


@contextmanager
def report_waits(quiet: bool = False) -> Iterator[None]:
    """While the block runs, print what takes long and since when."""
    from hqm.respondents.base import listening

    if quiet:
        yield
        return
    waits: Counter[str] = Counter()
    ended: dict[str, threading.Event] = {}

    def on_wait(activity: str, begins: bool) -> None:
        # several workers may load one model
        waits[activity] += 1 if begins else -1
        if begins and waits[activity] == 1:
            ended[activity] = threading.Event()
            # A daemon: a command that ends during a wait does not wait for its messenger.
            threading.Thread(
                target=_report_wait, args=(activity, ended[activity]), daemon=True
            ).start()
        elif not begins and not waits[activity]:
            ended.pop(activity).set()

    with listening(on_wait):
        yield


def _report_wait(activity: str, ended: threading.Event) -> None:
    began = time.monotonic()
    for elapsed in _wait_times():
        if ended.wait(max(0.0, began + elapsed - time.monotonic())):
            # A wait that no line was printed about ends without one.
            if elapsed != FIRST_WAIT:
                tell(f"{activity}: done after {_duration(time.monotonic() - began)}")
            return
        tell(f"{activity}: {_duration(time.monotonic() - began)} so far")


def _wait_times() -> Iterator[float]:
    yield FIRST_WAIT
    yield from NEXT_WAITS
    last = NEXT_WAITS[-1]
    while True:
        last += 60.0
        yield last


def _duration(seconds: float) -> str:
    """Write a duration in hours, minutes or seconds.

    >>> _duration(7.4), _duration(75), _duration(7500)
    ('7 s', '1 min 15 s', '2 h 5 min')
    """
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60} min"


class _ProgressLines:
    """Progress as a line now and then."""

    def __init__(self, activity: str) -> None:
        self.activity = activity
        self._began = self._last = time.monotonic()

    def reach(self, n_done: int, total: int) -> None:
        current_time = time.monotonic()
        if current_time - self._last < _LINE_INTERVAL or not n_done:
            return
        self._last = current_time
        # the mean rate from the start, which is steadier than that of the last lines
        rate = n_done / (current_time - self._began)
        if total > n_done:
            remaining = f", about {_duration((total - n_done) / rate)} left"
        else:
            remaining = ""
        total_text = f" of {total:,}" if total else ""
        tell(f"{n_done:,}{total_text} {self.activity}, {rate:,.1f}/s{remaining}")


# --- bars in a notebook ---


class _NotebookBars:
    """Bars below a cell of a notebook, which the next state replaces."""

    def __init__(self) -> None:
        notebook = import_module("IPython.display")  # there where a notebook runs
        self._html = notebook.HTML
        self._rows: list[tuple[str, int, int | None]] = []
        self._drawn = 0.0
        self._output = notebook.display(notebook.HTML(""), display_id=True)

    @classmethod
    @contextmanager
    def open_bars(cls) -> Iterator[_NotebookBars]:
        """Show the bars while the block runs; the last state stays."""
        notebook_bars = cls()
        try:
            yield notebook_bars
        finally:
            notebook_bars.draw()

    def add_task(self, description: str, total: int | None) -> int:
        self._rows.append((description, 0, total))
        return len(self._rows) - 1

    def update(self, task: int, *, completed: int, total: int | None) -> None:
        self._rows[task] = (self._rows[task][0], completed, total)
        # Each state is sent to the browser: five a second are enough.
        if time.monotonic() - self._drawn > _NOTEBOOK_INTERVAL:
            self.draw()

    def draw(self) -> None:
        """Show the state of all bars."""
        self._drawn = time.monotonic()
        lines = []
        for description, completed, total in self._rows:
            ends = f' value="{completed}" max="{total}"' if total else ""
            if total:
                counted = f"{completed:,} of {total:,}"
            else:
                counted = f"{completed:,}"
            lines.append(f"<progress{ends}></progress> {escape(description)}: {counted}")
        self._output.update(self._html("<br>".join(lines)))


# --- bars, as many columns as the terminal has room for ---


@contextmanager
def _open_bars(unit: str) -> Iterator[Bars]:
    from rich.console import Console
    from rich.progress import Progress as Bars

    line_width = width(sys.stderr)
    # names of models and judges stand beside the bars: nothing printed here is markup
    console = Console(file=sys.stderr, width=line_width, markup=False, emoji=False, highlight=False)
    with Bars(*_columns(unit, line_width), console=console, expand=True) as progress_bars:
        yield progress_bars


def _columns(unit: str, line_width: int) -> list[ProgressColumn]:
    """The columns of a bar: of answers, of a judge's replies, or of bytes."""
    from rich import progress
    from rich.table import Column
    from rich.text import Text

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="cyan")

    # a long name loses its end before a number does
    name_column = Column(no_wrap=True, overflow="ellipsis", ratio=1, min_width=8)
    columns: list[ProgressColumn] = [
        progress.TextColumn("{task.description}", markup=False, table_column=name_column)
    ]
    if line_width >= 60:
        columns.append(progress.BarColumn(bar_width=24 if line_width >= 80 else 10))
    if unit == "bytes":
        columns.append(progress.DownloadColumn())
    else:
        columns.append(progress.MofNCompleteColumn())
    if unit == "bytes" and line_width >= 80:
        columns.append(progress.TransferSpeedColumn())
    if unit == "answers" and line_width >= 72:
        columns.append(Rate())
    # how many replies a judge will give is not known before it is asked
    if unit != "replies":
        columns.append(progress.TimeRemainingColumn(compact=True))
    return columns


def _name(job: Job) -> str:
    return f"{job.assignment.respondent.name} · {job.administration.form.name}"
