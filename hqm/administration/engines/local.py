"""Who runs the requests: this process, or several worker processes that share them by picture.

Only the driver writes the store. A worker is told which requests to answer and sends answers back batch by batch, so that
a killed run loses no more than the batches in flight; a worker that dies fails the respondent it was running, not the run.
Answers do not depend on how the work was shared: every request draws from its own random stream. Asked to stop, everyone
finishes the batch in hand.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hqm.errors import HQMError, RespondentError
from hqm.respondents.base import Request, Respondent
from hqm.respondents.loading import gpu_count, use_threads
from hqm.types import Response

SHARD = 4096
"""Requests a worker takes at a time; the questions about one picture stay together."""
_TINY = 50_000_000
"""Bytes of weights below which several copies of a model may stand side by side on a CPU."""

Batch = tuple[int, list[tuple[Request, Response]] | HQMError]
"""Which respondent, and what it answered, or why it cannot go on."""
Work = Sequence[tuple[Respondent, Sequence[Request]]]
"""Respondents, each with what it is to answer."""
Stop = Callable[[], bool]
"""Whether somebody asked to stop: what is in hand is finished, nothing new begun."""


def never() -> bool:
    """Nobody asks to stop."""
    return False


def worker_count(wanted: int, respondents: Sequence[Respondent], gpus: Sequence[str] = ()) -> int:
    """How many processes: as wanted, or (0) one a GPU, one a core for tiny models on a CPU, else one."""
    if wanted or gpus:
        return wanted or len(gpus)
    sizes = [getattr(respondent, "weight_bytes", None) for respondent in respondents]
    tiny = bool(sizes) and all(size is not None and size < _TINY for size in sizes)
    return min(len(os.sched_getaffinity(0)), 8) if tiny and hasattr(os, "sched_getaffinity") else 1


def local_gpus(respondents: Sequence[Respondent]) -> tuple[str, ...]:
    """The GPUs to spread over: all there are, when a respondent left its device open; none when one GPU is all."""
    if not any(getattr(r, "device_wanted", "") == "auto" and getattr(r, "device", "") == "cuda" for r in respondents):
        return ()
    count = gpu_count()
    return tuple(f"cuda:{i}" for i in range(count)) if count > 1 else ()


def answer_all(work: Work, stop: Stop = never, *, workers: int = 0) -> Iterator[Batch]:
    """Put every respondent's requests to it; batches come in whatever order they are ready."""
    here = [i for i, (respondent, _) in enumerate(work) if not getattr(respondent, "movable", False)]
    away = [i for i in range(len(work)) if i not in here and work[i][1]]
    gpus = local_gpus([work[i][0] for i in away])
    count = worker_count(workers, [work[i][0] for i in away], gpus)
    # workers somebody asked for all get something to do, and a GPU must not wait for the last shard of another
    small = max(64, sum(len(work[i][1]) for i in away) // (4 * count))
    size = min(SHARD, small) if gpus or workers > 1 else SHARD
    shards = [(i, shard) for i in away for shard in shards_of(work[i][1], size)]
    count = min(count, len(shards))
    if count < 2:
        here, shards = list(range(len(work))), []
    if shards:
        yield from _spread(work, shards, count, stop, gpus)
    yield from answer_here(work, here, stop)


def answer_here(work: Work, which: Sequence[int], stop: Stop) -> Iterator[Batch]:
    """Ask respondents one after another in this process.

    A respondent with requests in flight (a server) has a method `finish`: it begins nothing new, and what is in flight
    still comes.
    """
    for i in which:
        respondent, requests = work[i]
        if stop():
            return
        try:
            if requests:
                for batch in respondent.answer(requests):
                    yield i, batch
                    if stop():
                        finish = getattr(respondent, "finish", None)
                        if finish is None:
                            break
                        finish()
        except RespondentError as error:
            yield i, error
        finally:
            respondent.close()


def shards_of(requests: Sequence[Request], size: int = SHARD) -> Iterator[list[Request]]:
    """Cut the requests between pictures, into pieces of `size` or a little more."""
    ordered = sorted(requests, key=lambda r: str(r.image or ""))
    start = 0
    while start < len(ordered):
        end = min(start + size, len(ordered))
        while end < len(ordered) and ordered[end].image == ordered[end - 1].image:
            end += 1
        yield ordered[start:end]
        start = end


def _spread(
    work: Work, shards: Sequence[tuple[int, list[Request]]], count: int, stop: Stop, devices: Sequence[str] = ()
) -> Iterator[Batch]:
    context = mp.get_context("spawn")
    stopped: Any = context.Event()
    tasks: Any = context.Queue()
    results: Any = context.Queue()
    for number, (i, shard) in enumerate(shards):
        tasks.put((number, i, work[i][0], shard))
    for _ in range(count):
        tasks.put(None)
    threads = max(1, len(os.sched_getaffinity(0)) // count) if hasattr(os, "sched_getaffinity") else 1
    places = [devices[k % len(devices)] if devices else "" for k in range(count)]
    crew = [
        context.Process(target=_work, args=(tasks, results, stopped, threads, place), daemon=True) for place in places
    ]
    for worker in crew:
        worker.start()
    taken: dict[int, int] = {}
    open_shards = set(range(len(shards)))
    try:
        while open_shards:
            if stop() and not stopped.is_set():
                stopped.set()
            try:
                kind, who, number, payload = results.get(timeout=0.5)
            except queue.Empty:
                if not stopped.is_set():
                    yield from _buried(crew, taken, shards, open_shards)
                elif not any(worker.is_alive() for worker in crew):
                    return
                continue
            if kind == "taken":
                taken[who] = number
            elif kind == "batch":
                i, shard = shards[number]
                yield i, [(shard[position], response) for position, response in payload]
            else:
                open_shards.discard(number)
                if payload is not None:
                    yield shards[number][0], payload
    finally:
        tasks.cancel_join_thread()  # shards nobody took would keep this process from ending
        for worker in crew:
            worker.terminate()
            worker.join()


def _buried(
    crew: Sequence[Any], taken: dict[int, int], shards: Sequence[tuple[int, list[Request]]], open_shards: set[int]
) -> Iterator[Batch]:
    """The shards of workers that died; all that is left when nobody lives."""
    dead = [worker for worker in crew if not worker.is_alive()]
    lost = {taken[worker.pid] for worker in dead if taken.get(worker.pid) in open_shards}
    if len(dead) == len(crew):
        lost |= open_shards
    for number in sorted(lost):
        open_shards.discard(number)
        code = next((worker.exitcode for worker in dead), None)
        remedy = "Run the same command again: what was answered is kept."
        yield shards[number][0], RespondentError(f"a worker process died (exit status {code})", remedy=remedy)


def _follow() -> None:
    """End with the driver: a worker whose driver was killed would wait for ever, its model in memory."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(tasks: Any, results: Any, stopped: Any, threads: int, device: str = "") -> None:
    """A worker: take shards until there are none or it is told to stop, on a device of its own if it was given one."""
    # Ctrl-C reaches every process of a terminal; only the driver decides what it means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()
    use_threads(threads)
    current: Respondent | None = None
    me = os.getpid()
    while not stopped.is_set() and (task := tasks.get()) is not None:
        number, _, respondent, shard = task
        results.put(("taken", me, number, None))
        if current is None or current.name != respondent.name:
            if current is not None:
                current.close()
            current = respondent
            if device:
                respondent.move(device)
        place = {id(request): position for position, request in enumerate(shard)}
        failure: HQMError | None = None
        try:
            for batch in current.answer(shard):
                results.put(("batch", me, number, [(place[id(request)], response) for request, response in batch]))
                if stopped.is_set():
                    return
        except RespondentError as error:
            failure = error
        except Exception as error:  # a worker must not die in silence
            failure = RespondentError(f"it failed: {type(error).__name__}: {error}", place=respondent.name)
        results.put(("done", me, number, failure))
