"""Requests answered by this process, or by several worker processes that share them by picture.

Only the driver writes the store. A worker gets the requests to answer and sends answers back batch
by batch, so that a killed run loses no more than the batches in flight; requests that a dead worker
has not answered are answered by the others. Answers do not depend on how the work was shared: every
request draws from its own random stream. On a request to stop, each worker finishes its batch.
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
from itertools import repeat, starmap
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.util import get_temp_dir
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Literal

from hqm.errors import HQMError, RespondentError
from hqm.respondents.base import Request, Respondent, listening, tell
from hqm.respondents.hf_loading import gpu_environment, use_threads, visible_gpus
from hqm.types import Response

if TYPE_CHECKING:  # Windows has no fork server
    from multiprocessing.context import ForkServerContext, SpawnContext

SHARD = 4096
"""Requests a worker takes at a time; the questions about one picture stay together."""
_MIN_REQUESTS = 256
"""Requests below which a further process gains nothing."""
_PRELOADING = threading.Event()
"""Set when the server that workers are forked from has begun to import what they need."""
_MAX_LOSSES = 3
"""Workers that a shard may lose before its respondent is given up: the shard may be what kills
them.
"""
_MAX_SILENCE = 60.0
"""Seconds after which a notice about a worker that has sent nothing is printed."""
_MAX_TINY_BYTES = 50_000_000
"""The size of weights, in bytes, below which several copies of a model may be loaded on a CPU."""

Batch = tuple[int, list[tuple[Request, Response]] | HQMError]
"""The index of a respondent, with its answers, or with the error that ends it."""
Work = Sequence[tuple[Respondent, Sequence[Request]]]
"""Respondents, each with its requests."""
Task = tuple[Respondent, list[Request]]
"""What a worker is sent; None ends it."""
Message = (
    tuple[Literal["wait"], tuple[str, bool]]
    | tuple[Literal["batch"], list[tuple[int, Response]]]
    | tuple[Literal["done"], HQMError | None]
)
"""What a worker sends: an activity that it begins or ends, the positions of requests in its shard
with their responses, or the end of the shard, with the error where there is one."""
Stop = Callable[[], bool]
"""Whether somebody asked to stop: batches in progress are finished, and no other is begun."""


def never_stop() -> bool:
    """Return False: no request to stop."""
    return False


def always_close(_respondent: Respondent) -> bool:
    """Return True: every respondent is closed when it has answered."""
    return True


def is_tiny(respondent: Respondent) -> bool:
    """Return whether several copies of a respondent fit on a CPU at once."""
    size = getattr(respondent, "weight_bytes", None)
    return size is not None and bool(size < _MAX_TINY_BYTES)


def is_light(respondent: Respondent) -> bool:
    """Return whether a respondent needs so little memory that it may stay open beside others."""
    return not is_movable(respondent) or is_tiny(respondent)


def is_movable(respondent: Respondent) -> bool:
    """Return whether a respondent's model may run on another machine or GPU."""
    return bool(getattr(respondent, "movable", False) or getattr(respondent, "per_gpu", False))


def worker_count(
    requested: int, respondents: Sequence[Respondent], gpus: Sequence[str] = ()
) -> int:
    """Return the number of worker processes; 0 means one a GPU, or one a core for tiny models."""
    if gpus:
        return min(requested or len(gpus), len(gpus))
    if requested:
        return requested
    are_tiny = bool(respondents) and all(map(is_tiny, respondents))
    if are_tiny and hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), 8)
    return 1


def local_gpus(respondents: Sequence[Respondent]) -> tuple[str, ...]:
    """Return the GPUs to use: all, if a respondent leaves its device open; none if there is only
    one.
    """
    for respondent in respondents:
        is_open = getattr(respondent, "device_wanted", "") == "auto"
        if is_open and getattr(respondent, "device", "") == "cuda":
            gpus = visible_gpus()
            return gpus if len(gpus) > 1 else ()
    return ()


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
        _PRELOADING.set()


def _context() -> SpawnContext | ForkServerContext:
    """How worker processes start: forked from a server that has imported torch, on Linux; elsewhere
    that is not safe, and without a place for its socket it is not possible.
    """
    if sys.platform != "linux" or not _has_place_for_socket():
        return mp.get_context("spawn")
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["hqm.administration.engines.warm"])
    return context


_MAX_SOCKET_FOLDER = 107 - len("/listener-12345678")
"""The longest path of a folder in which Linux can name the socket of a fork server."""


def _has_place_for_socket() -> bool:
    """Return whether there is a temporary folder that can be written, with a short path."""
    try:
        return len(os.fsencode(get_temp_dir())) <= _MAX_SOCKET_FOLDER
    except OSError:
        return False


def answer_all(work: Work, stop: Stop = never_stop, *, workers: int = 0) -> Iterator[Batch]:
    """Put every respondent's requests to it; batches come in whatever order they are ready."""
    local_indices = [
        i for i, (respondent, _) in enumerate(work) if not getattr(respondent, "movable", False)
    ]
    movable_indices = [i for i in range(len(work)) if i not in local_indices and work[i][1]]
    movable = [work[i][0] for i in movable_indices]
    gpus = local_gpus(movable)
    count = worker_count(workers, movable, gpus)
    n_requests = sum(len(work[i][1]) for i in movable_indices)
    size = shard_size(n_requests, count, even=bool(gpus) or workers > 1)
    shards_by_index: list[tuple[int, list[Request]]] = []
    for i in movable_indices:
        shards_by_index += zip(repeat(i), shards_of(work[i][1], size))
    shards = taper(shards_by_index, count)
    count = min(count, len(shards))
    # importing torch takes longer than a few hundred answers: one worker that was forked from the
    # preloaded server is faster than this process
    is_preloaded = (
        workers == 0
        and _PRELOADING.is_set()
        and "torch" not in sys.modules
        and all(map(is_tiny, movable))
    )
    if count < 2 and not is_preloaded:
        local_indices = list(range(len(work)))
        shards = []
    if shards:
        yield from _answer_on_workers(work, shards, count, stop, gpus)
    yield from answer_here(work, local_indices, stop)


def answer_here(
    work: Work,
    indices: Sequence[int],
    stop: Stop,
    close: Callable[[Respondent], bool] = always_close,
) -> Iterator[Batch]:
    """Ask respondents one after another in this process.

    A respondent that answers several requests at a time has a method `finish`: it begins nothing
    new, and what is in flight still comes. `close` says whether a respondent is closed when it has
    answered; who asks it again soon closes it later.
    """
    for i in indices:
        respondent, requests = work[i]
        if stop():
            return
        try:
            if requests:
                for batch in respondent.answer(requests):
                    yield i, batch
                    if stop() and not _ask_to_finish(respondent):
                        break
        except RespondentError as error:
            yield i, error
        finally:
            if close(respondent):
                respondent.close()


def _ask_to_finish(respondent: Respondent) -> bool:
    """Ask a respondent to begin nothing new. Return False if it cannot be asked."""
    finish = getattr(respondent, "finish", None)
    if finish is not None:
        finish()
    return finish is not None


def shard_size(n_requests: int, count: int, *, even: bool) -> int:
    """The number of requests that a worker takes at a time.

    Workers whose number the user set all get requests (`even`), and a GPU must not wait for the
    last shard of another. Several workers on a CPU share all requests, unless there are few.

    >>> shard_size(600, 2, even=False), shard_size(100_000, 2, even=False)
    (300, 4096)
    >>> shard_size(600, 2, even=True)
    75
    """
    if even:
        size = max(64, n_requests // (4 * count))
    else:
        size = max(_MIN_REQUESTS, -(-n_requests // count))
    return min(SHARD, size)


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


def taper(
    shards: Sequence[tuple[int, list[Request]]], count: int
) -> list[tuple[int, list[Request]]]:
    """Cut the last large shards into quarters, so that no worker waits long for another's last one.

    >>> from pathlib import Path
    >>> from hqm import Request, Sampling
    >>> many = [Request("Is there a dog?", Path(f"{n}.png"), Sampling(), n) for n in range(4096)]
    >>> [len(shard) for _, shard in taper([(0, many), (1, many), (2, many[:300])], 2)]
    [4096, 1024, 1024, 1024, 1024, 300]
    """
    first_cut = len(shards) - count if count > 1 else len(shards)
    pieces: list[tuple[int, list[Request]]] = []
    for index, (i, shard) in enumerate(shards):
        if index >= first_cut and len(shard) > 4 * _MIN_REQUESTS:
            pieces += zip(repeat(i), shards_of(shard, len(shard) // 4))
        else:
            pieces.append((i, shard))
    return pieces


@dataclass
class _Shard:
    """Some requests to one respondent, and how often a worker was lost over them."""

    index: int
    """The index of the respondent."""
    requests: list[Request]
    losses: int = 0


@dataclass
class _Worker:
    """A worker process as the driver sees it: its pipe, its shard, and the unanswered requests."""

    process: BaseProcess
    pipe: Connection[Task | None, Message]
    shard: _Shard | None = None
    left: set[int] = field(default_factory=set)
    waits: list[str] = field(default_factory=list)
    """What the worker waits for, such as a model that it loads."""
    last_message: float = 0.0
    """When it was last sent a shard, or sent a message."""
    silence_notice: str = ""
    """The notice about its silence that was printed."""

    def send(self, task: Task | None) -> None:
        """Send a task, or None to end the worker."""
        with suppress(OSError):  # a dead worker is noticed when its pipe is read
            self.pipe.send(task)

    def note_message(self) -> None:
        """Note that the worker lives."""
        self.last_message = time.monotonic()
        if self.silence_notice:
            tell(self.silence_notice, False)
            self.silence_notice = ""

    def report_silence(self) -> None:
        """Print a notice if the worker has a shard and has sent nothing for long."""
        is_late = time.monotonic() - self.last_message > _MAX_SILENCE
        if is_late and self.shard is not None and not self.waits and not self.silence_notice:
            number = self.process.pid
            self.silence_notice = (
                f"waiting for process {number}, which has sent nothing for {_MAX_SILENCE:g} s"
                f" (`kill -CONT {number}` continues one that was stopped)"
            )
            tell(self.silence_notice, True)

    def end(self) -> None:
        """End the process, even one that was stopped."""
        self.process.kill()
        self.process.join()
        self.note_message()
        for activity in self.waits:
            tell(activity, False)
        self.waits.clear()


class _Driver:
    """Distributes shards to worker processes, and collects their answers."""

    def __init__(
        self,
        work: Work,
        shards: Sequence[tuple[int, list[Request]]],
        count: int,
        stop: Stop,
        gpus: Sequence[str],
    ) -> None:
        self._work = work
        self._stop = stop
        self._stopping = False
        self._waiting = deque(starmap(_Shard, shards))
        self._workers = _start_workers(count, gpus)

    def batches(self) -> Iterator[Batch]:
        """Yield the answers as they come."""
        try:
            while self._workers:
                if self._stop() and not self._stopping:
                    self._tell_to_stop()
                for worker in self._workers:
                    if worker.shard is None and self._waiting:
                        self._send_shard(worker, self._waiting.popleft())
                    worker.report_silence()
                if not any(worker.shard is not None for worker in self._workers):
                    return
                # half a second, so that a request to stop and a silent worker are noticed while
                # nobody sends
                ready = wait([worker.pipe for worker in self._workers], timeout=0.5)
                for worker in list(self._workers):
                    if worker.pipe in ready:
                        yield from self._receive(worker)
            # every worker died before these were taken
            for index in sorted(set(map(attrgetter("index"), self._waiting))):
                yield index, _death_error(None)
        finally:
            for worker in self._workers:
                worker.end()

    def _tell_to_stop(self) -> None:
        """Let every worker finish its batch; end those that have none, because they wait."""
        self._stopping = True
        self._waiting.clear()
        for worker in list(self._workers):
            worker.send(None)
            if worker.waits:
                worker.end()
                self._workers.remove(worker)

    def _send_shard(self, worker: _Worker, shard: _Shard) -> None:
        worker.shard = shard
        worker.left = set(range(len(shard.requests)))
        worker.note_message()
        worker.send((self._work[shard.index][0], shard.requests))

    def _receive(self, worker: _Worker) -> Iterator[Batch]:
        """Handle one message of a worker, or its death."""
        worker.note_message()
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            yield from self._replace_dead(worker)
            return
        shard = worker.shard
        if message[0] == "wait":
            activity, begins = message[1]
            (worker.waits.append if begins else worker.waits.remove)(activity)
            tell(activity, begins)
        elif shard is None:
            return
        elif message[0] == "batch":
            worker.left.difference_update(map(itemgetter(0), message[1]))
            answers = [(shard.requests[position], response) for position, response in message[1]]
            yield shard.index, answers
        else:
            worker.shard = None
            if message[1] is not None:
                yield shard.index, message[1]

    def _replace_dead(self, worker: _Worker) -> Iterator[Batch]:
        """Put back the requests that a dead worker has not answered, unless it ended on request."""
        self._workers.remove(worker)
        worker.end()
        shard = worker.shard
        if shard is None or self._stopping:
            return
        unanswered = [shard.requests[position] for position in sorted(worker.left)]
        if shard.losses + 1 >= _MAX_LOSSES:
            yield shard.index, _death_error(worker.process.exitcode)
        elif unanswered:
            self._waiting.appendleft(_Shard(shard.index, unanswered, shard.losses + 1))


def _answer_on_workers(
    work: Work,
    shards: Sequence[tuple[int, list[Request]]],
    count: int,
    stop: Stop,
    gpus: Sequence[str] = (),
) -> Iterator[Batch]:
    """Answer shards on so many worker processes."""
    yield from _Driver(work, shards, count, stop, gpus).batches()


def _start_workers(count: int, gpus: Sequence[str]) -> list[_Worker]:
    """Start worker processes, each with its share of the cores, and with its own GPU if named."""
    context = _context()
    threads = 1
    if hasattr(os, "sched_getaffinity"):
        threads = max(1, len(os.sched_getaffinity(0)) // count)
    workers = []
    for number in range(count):
        # a pipe for each: a worker that is killed holds no lock that the others wait for
        driver_end, worker_end = context.Pipe()
        environment = dict(os.environ)
        if gpus:
            # a worker that sees one GPU reserves no memory on the others
            environment |= gpu_environment(gpus[number])
        process = context.Process(
            target=_run_worker, args=(worker_end, threads, environment), daemon=True
        )
        process.start()
        worker_end.close()
        workers.append(_Worker(process, driver_end))
    return workers


def _death_error(code: int | None) -> RespondentError:
    """The error about a dead worker, or, without an exit status, about all of them."""
    message = "all worker processes died"
    if code is not None:
        message = f"a worker process died (exit status {code})"
    return RespondentError(message, remedy="Run the same command again: what was answered is kept.")


def _end_with_driver() -> None:
    """End this worker when its driver is killed, because it would wait for ever with its model."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_worker(
    pipe: Connection[Message, Task | None], threads: int, environment: Mapping[str, str]
) -> None:
    """A worker: answer shards until it is told to stop."""
    # a forked worker has the environment that the fork server started with
    os.environ.update(environment)
    # Ctrl-C reaches every process of a terminal; only the driver decides what it means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_driver, daemon=True).start()
    use_threads(threads)
    with listening(lambda activity, begins: pipe.send(("wait", (activity, begins)))):
        _answer_shards(pipe)


def _answer_shards(pipe: Connection[Message, Task | None]) -> None:
    current: Respondent | None = None
    while (task := pipe.recv()) is not None:
        respondent, shard = task
        # the model stays loaded from shard to shard
        if current is None or current.name != respondent.name:
            if current is not None:
                current.close()
            current = respondent
        # positions go back through the pipe in place of whole requests, of which two may be equal
        positions = {id(request): position for position, request in enumerate(shard)}
        failure: HQMError | None = None
        try:
            for batch in current.answer(shard):
                answers = [(positions[id(request)], response) for request, response in batch]
                pipe.send(("batch", answers))
                # while a shard is answered, the only message is the request to stop
                if pipe.poll() and not _ask_to_finish(current):
                    return
        except RespondentError as error:
            failure = error
        except Exception as error:  # a worker must not die in silence
            failure = RespondentError(
                f"it failed: {type(error).__name__}: {error}", location=respondent.name
            )
        # the driver gives the next shard only now, so that a slow worker takes fewer
        pipe.send(("done", failure))
