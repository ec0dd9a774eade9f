"""Who runs the requests: this process, or several worker processes that share them by picture.

Only the driver writes the store. A worker is told which requests to answer and sends answers back
batch by batch, so that a killed run loses no more than the batches in flight; what a worker that
dies has not sent back is answered by the others. Answers do not depend on how the work was shared:
every request draws from its own random stream. Asked to stop, everyone finishes the batch in hand.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from hqm.errors import HQMError, RespondentError
from hqm.respondents.base import Request, Respondent, listening, tell
from hqm.respondents.hf_loading import seeing, use_threads, visible_gpus
from hqm.types import Response

SHARD = 4096
"""Requests a worker takes at a time; the questions about one picture stay together."""
_FEW = 256
"""Requests below which a further process gains nothing."""
_AHEAD = threading.Event()
"""Set when the server that workers are forked from has begun to import what they need."""
_LOSSES = 3
"""Workers that a shard may lose before its respondent is given up: the shard may be what kills
them.
"""
_SILENCE = 60.0
"""Seconds after which a worker that has sent nothing is told of: it may have been stopped."""
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


def always(_respondent: Respondent) -> bool:
    """Every respondent is closed when it has answered."""
    return True


def is_tiny(respondent: Respondent) -> bool:
    """Return whether several copies of a respondent fit on a CPU at once."""
    size = getattr(respondent, "weight_bytes", None)
    return size is not None and bool(size < _TINY)


def is_light(respondent: Respondent) -> bool:
    """Return whether a respondent needs so little memory that it may stay open beside others."""
    return not is_movable(respondent) or is_tiny(respondent)


def is_movable(respondent: Respondent) -> bool:
    """Return whether a respondent's model may run on another machine or GPU."""
    return bool(getattr(respondent, "movable", False) or getattr(respondent, "per_gpu", False))


def worker_count(wanted: int, respondents: Sequence[Respondent], gpus: Sequence[str] = ()) -> int:
    """Return the number of worker processes; 0 means one a GPU, or one a core for tiny models."""
    if gpus:
        return min(wanted or len(gpus), len(gpus))
    if wanted:
        return wanted
    tiny = bool(respondents) and all(map(is_tiny, respondents))
    return min(len(os.sched_getaffinity(0)), 8) if tiny and hasattr(os, "sched_getaffinity") else 1


def local_gpus(respondents: Sequence[Respondent]) -> tuple[str, ...]:
    """Return the GPUs to use: all, if a respondent leaves its device open; none if there is only
    one.
    """
    if not any(
        getattr(r, "device_wanted", "") == "auto" and getattr(r, "device", "") == "cuda"
        for r in respondents
    ):
        return ()
    gpus = visible_gpus()
    return gpus if len(gpus) > 1 else ()


def get_ready(respondents: Sequence[Respondent], *, workers: int = 0) -> None:
    """Start importing what worker processes need for these respondents, without waiting."""
    movable = [respondent for respondent in respondents if getattr(respondent, "movable", False)]
    if movable and worker_count(workers, movable, local_gpus(movable)) > 1:
        import_ahead()


def import_ahead() -> None:
    """Start importing what worker processes need, if they are forked and a core is free."""
    if _context().get_start_method() == "forkserver" and len(os.sched_getaffinity(0)) > 1:
        from multiprocessing.forkserver import ensure_running

        ensure_running()
        _AHEAD.set()


def _context() -> Any:
    """How worker processes start: forked from a server that has imported torch, on Linux; elsewhere
    that is not safe.
    """
    if sys.platform != "linux":
        return mp.get_context("spawn")
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["hqm.administration.engines.warm"])
    return context


def answer_all(work: Work, stop: Stop = never, *, workers: int = 0) -> Iterator[Batch]:
    """Put every respondent's requests to it; batches come in whatever order they are ready."""
    here = [
        i for i, (respondent, _) in enumerate(work) if not getattr(respondent, "movable", False)
    ]
    away = [i for i in range(len(work)) if i not in here and work[i][1]]
    gpus = local_gpus([work[i][0] for i in away])
    count = worker_count(workers, [work[i][0] for i in away], gpus)
    asked = sum(len(work[i][1]) for i in away)
    size = shard_size(asked, count, even=bool(gpus) or workers > 1)
    shards = tapered([(i, shard) for i in away for shard in shards_of(work[i][1], size)], count)
    count = min(count, len(shards))
    # to import torch takes longer than a few hundred answers: let the process that has begun to do
    # it
    begun = (
        workers == 0
        and _AHEAD.is_set()
        and "torch" not in sys.modules
        and all(is_tiny(work[i][0]) for i in away)
    )
    if count < 2 and not begun:
        here, shards = list(range(len(work))), []
    if shards:
        yield from _spread(work, shards, count, stop, gpus)
    yield from answer_here(work, here, stop)


def answer_here(
    work: Work, which: Sequence[int], stop: Stop, close: Callable[[Respondent], bool] = always
) -> Iterator[Batch]:
    """Ask respondents one after another in this process.

    A respondent that answers several requests at a time has a method `finish`: it begins nothing
    new, and what is in flight still comes. `close` says whether a respondent is closed when it has
    answered; who asks it again soon closes it later.
    """
    for i in which:
        respondent, requests = work[i]
        if stop():
            return
        try:
            if requests:
                for batch in respondent.answer(requests):
                    yield i, batch
                    if stop() and not _told_to_finish(respondent):
                        break
        except RespondentError as error:
            yield i, error
        finally:
            if close(respondent):
                respondent.close()


def _told_to_finish(respondent: Respondent) -> bool:
    """Ask a respondent to begin nothing new. Return False if it cannot be asked."""
    finish = getattr(respondent, "finish", None)
    if finish is not None:
        finish()
    return finish is not None


def shard_size(asked: int, count: int, *, even: bool) -> int:
    """How many requests a worker takes at a time.

    Workers that somebody asked for all get something to do (`even`), and a GPU must not wait for
    the last shard of another. Several workers on processors share what there is, unless it is
    little.

    >>> shard_size(600, 2, even=False), shard_size(100_000, 2, even=False)
    (300, 4096)
    >>> shard_size(600, 2, even=True)
    75
    """
    least = max(64, asked // (4 * count)) if even else max(_FEW, -(-asked // count))
    return min(SHARD, least)


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


def tapered(
    shards: Sequence[tuple[int, list[Request]]], count: int
) -> list[tuple[int, list[Request]]]:
    """Cut the last large shards into quarters, so that no worker waits long for another's last one.

    >>> from pathlib import Path
    >>> from hqm import Request, Sampling
    >>> many = [Request("Is there a dog?", Path(f"{n}.png"), Sampling(), n) for n in range(4096)]
    >>> [len(shard) for _, shard in tapered([(0, many), (1, many), (2, many[:300])], 2)]
    [4096, 1024, 1024, 1024, 1024, 300]
    """
    last = len(shards) - count if count > 1 else len(shards)
    return [
        (i, part)
        for index, (i, shard) in enumerate(shards)
        for part in (
            shards_of(shard, len(shard) // 4)
            if index >= last and len(shard) > 4 * _FEW
            else [shard]
        )
    ]


@dataclass
class _Worker:
    """A worker process as the driver sees it: its pipe, its shard, and what is unanswered."""

    process: Any
    pipe: Any
    shard: int = -1
    left: set[int] = field(default_factory=set)
    waits: list[str] = field(default_factory=list)
    """What the worker waits for, such as a model that it loads."""
    heard: float = 0.0
    """When it was last given something, or sent something."""
    silent: str = ""
    """What was told of its silence."""

    def hear(self) -> None:
        """Note that it lives."""
        self.heard = time.monotonic()
        if self.silent:
            tell(self.silent, False)
            self.silent = ""

    def miss(self) -> None:
        """Tell of a worker that is at work and has sent nothing for long."""
        late = time.monotonic() - self.heard > _SILENCE
        if late and self.shard >= 0 and not self.waits and not self.silent:
            number = self.process.pid
            self.silent = (
                f"waiting for process {number}, which has sent nothing for {_SILENCE:g} s"
                f" (`kill -CONT {number}` continues one that was stopped)"
            )
            tell(self.silent, True)


def _spread(
    work: Work,
    shards: Sequence[tuple[int, list[Request]]],
    count: int,
    stop: Stop,
    gpus: Sequence[str] = (),
) -> Iterator[Batch]:
    context = _context()
    threads = (
        max(1, len(os.sched_getaffinity(0)) // count) if hasattr(os, "sched_getaffinity") else 1
    )
    crew: list[_Worker] = []
    for k in range(count):
        # a pipe for each: a worker that is killed holds no lock that the others wait for
        ours, theirs = context.Pipe()
        # each sees its own GPU alone: none keeps memory on another's
        environment = {**os.environ, **(seeing(gpus[k]) if gpus else {})}
        process = context.Process(target=_work, args=(theirs, threads, environment), daemon=True)
        process.start()
        theirs.close()
        crew.append(_Worker(process, ours))
    pieces: list[tuple[int, list[Request], int]] = [(i, list(shard), 0) for i, shard in shards]
    waiting = deque(range(len(pieces)))
    stopping = False
    try:
        while crew:
            if stop() and not stopping:
                stopping = True
                waiting.clear()
                for worker in list(crew):
                    _send(worker, None)
                    if worker.waits:  # it has no batch to finish
                        _end(worker)
                        crew.remove(worker)
            for worker in crew:
                if worker.shard < 0 and waiting:
                    number = worker.shard = waiting.popleft()
                    i, requests, _ = pieces[number]
                    worker.left = set(range(len(requests)))
                    worker.hear()
                    _send(worker, (work[i][0], requests))
                worker.miss()
            if not any(worker.shard >= 0 for worker in crew):
                return
            for pipe in wait([worker.pipe for worker in crew], timeout=0.5):
                worker = next(worker for worker in crew if worker.pipe is pipe)
                worker.hear()
                kind: str
                payload: Any
                try:
                    kind, payload = worker.pipe.recv()
                except (EOFError, OSError, pickle.UnpicklingError):
                    crew.remove(worker)
                    _end(worker)
                    if (
                        worker.shard < 0 or stopping
                    ):  # it had nothing to do, or ended as it was told
                        continue
                    i, requests, losses = pieces[worker.shard]
                    rest = [requests[position] for position in sorted(worker.left)]
                    if losses + 1 >= _LOSSES:
                        worker.process.join()
                        yield i, _died(worker.process.exitcode)
                    elif rest:
                        pieces.append((i, rest, losses + 1))
                        waiting.appendleft(len(pieces) - 1)
                    continue
                i, requests, _ = pieces[worker.shard]
                if kind == "batch":
                    worker.left -= {position for position, _ in payload}
                    yield i, [(requests[position], response) for position, response in payload]
                elif kind == "wait":
                    what, begins = payload
                    (worker.waits.append if begins else worker.waits.remove)(what)
                    tell(what, begins)
                else:
                    worker.shard = -1
                    if payload is not None:
                        yield i, payload
        for i in sorted({pieces[number][0] for number in waiting}):
            yield i, _died(None)
    finally:
        for worker in crew:
            _end(worker)


def _end(worker: _Worker) -> None:
    """End a worker, even one that was stopped."""
    worker.process.kill()
    worker.process.join()
    worker.hear()
    for what in worker.waits:
        tell(what, False)
    worker.waits.clear()


def _send(worker: _Worker, task: Any) -> None:
    with suppress(OSError):  # it is dead, which its pipe will say
        worker.pipe.send(task)


def _died(code: int | None) -> RespondentError:
    what = (
        "all worker processes died"
        if code is None
        else f"a worker process died (exit status {code})"
    )
    return RespondentError(what, remedy="Run the same command again: what was answered is kept.")


def _follow() -> None:
    """End this worker when its driver is killed, because it would wait for ever with its model."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(pipe: Any, threads: int, environment: Mapping[str, str]) -> None:
    """A worker: answer shards until it is told to stop."""
    os.environ.update(
        environment
    )  # the server that it was forked from has that of its own beginning
    # Ctrl-C reaches every process of a terminal; only the driver decides what it means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()
    use_threads(threads)
    with listening(lambda what, begins: pipe.send(("wait", (what, begins)))):
        _answer_shards(pipe)


def _answer_shards(pipe: Any) -> None:
    current: Respondent | None = None
    while (task := pipe.recv()) is not None:
        respondent, shard = task
        if current is None or current.name != respondent.name:
            if current is not None:
                current.close()
            current = respondent
        index = {id(request): position for position, request in enumerate(shard)}
        failure: HQMError | None = None
        try:
            for batch in current.answer(shard):
                pipe.send(
                    ("batch", [(index[id(request)], response) for request, response in batch])
                )
                # while a shard is answered, nothing comes but the word to stop
                if pipe.poll() and not _told_to_finish(current):
                    return
        except RespondentError as error:
            failure = error
        except Exception as error:  # a worker must not die in silence
            failure = RespondentError(
                f"it failed: {type(error).__name__}: {error}", location=respondent.name
            )
        pipe.send(("done", failure))
