"""Live progress of a run: a bar for each respondent and form, with rate and time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hqm.administration.administering import Progress
from hqm.administration.planning import Job


@contextmanager
def bars(jobs: Sequence[Job], quiet: bool = False) -> Iterator[Progress]:
    """Show progress while the block runs; the callback is told how many more answers a job has."""
    todo = [job for job in jobs if job.todo]
    if quiet or not todo:
        yield lambda _job, _count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="cyan")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(compact=True),
    )
    console = Console(file=sys.stderr)
    with Bars(*columns, console=console, transient=False) as shown:
        total = shown.add_task("all", total=sum(len(job.todo) for job in todo))
        tasks: dict[tuple[str, str], int] = {}
        sizes: dict[tuple[str, str], int] = {}
        for job in todo:
            key = _key(job)
            sizes[key] = sizes.get(key, 0) + len(job.todo)

        def advance(job: Job, count: int) -> None:
            key = _key(job)
            if key not in tasks:  # a bar appears when its respondent's turn comes
                tasks[key] = shown.add_task(" · ".join(key), total=sizes[key])
            shown.advance(tasks[key], count)  # type: ignore[arg-type]
            shown.advance(total, count)

        yield advance


@contextmanager
def judging(quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show how many questions the judges have been asked while the block runs."""
    if quiet:
        yield lambda _judge, _count, _wave: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    with Bars(TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(),
              console=Console(file=sys.stderr)) as shown:  # fmt: skip
        tasks: dict[str, int] = {}

        def advance(judge: str, done: int, wave: int) -> None:
            if judge not in tasks:
                tasks[judge] = shown.add_task(f"judge {judge}", total=wave)
            # a later stage asks more: the total grows as it becomes known
            task = shown.tasks[list(tasks).index(judge)]
            shown.update(tasks[judge], completed=done, total=max(float(task.total or 0), done, wave))  # type: ignore[arg-type]

        yield advance


@contextmanager
def downloading(quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show each download's bytes, rate and time left while the block runs."""
    if quiet:
        yield lambda _name, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=24), DownloadColumn(), TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
    )  # fmt: skip
    with Bars(*columns, console=Console(file=sys.stderr)) as shown:
        tasks: dict[str, Any] = {}

        def advance(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = shown.add_task(name, total=total or None)
            shown.update(tasks[name], completed=done)

        yield advance


def _key(job: Job) -> tuple[str, str]:
    return job.assignment.respondent.name, job.administration.form.name
