"""Live progress of a run: a bar for each respondent and form, with rate and time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hqm.administer import Job, Progress


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


def _key(job: Job) -> tuple[str, str]:
    return job.sitting.respondent.name, job.administration.form.name
