"""Requests on a Ray cluster: actors on as many GPUs as their model needs (`allocation`), or on CPUs.

The driver sends shards of requests to the actors, collects batches as they are ready, and alone
writes the store. A lost actor costs only time: its unanswered requests return to the queue and
another actor answers them, with the same answers, because every request has its own seed. A node
that joins gets actors within seconds.

HQM of the same version must be installed on every node. The pictures need not: an actor on another
node that does not have a picture's file, or has other bytes, is sent them.
"""

from __future__ import annotations

import io
import math
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from hqm.administration.engines.local import (
    Batch,
    Stop,
    Work,
    answer_here,
    is_movable,
    never_stop,
    shards_of,
)
from hqm.administration.engines.placement import Layout, Model
from hqm.errors import HQMError, RespondentError, missing_library
from hqm.files.cache import cache_picture
from hqm.respondents.base import Request, Respondent
from hqm.respondents.hf_loading import gpu_memory, use_threads
from hqm.signature import digest_file
from hqm.types import Response
from hqm.version import __version__
from hqm_ray.allocation import Allocation, Node, allocate, allocate_all, misfit_error, plan_layouts

# A Ray actor holds one respondent at a time, and answers a shard batch by batch.

Message = tuple[str, Any]
"""`batch` with (place, response) pairs, `lacks` with paths, `end`, or `failed` with an error."""


class Actor:
    """Begins a shard, and returns its answers call by call.

    Parameters
    ----------
    threads, gpus
        The threads and GPUs that a model of this actor may use.
    """

    def __init__(self, threads: int, gpus: int) -> None:
        use_threads(threads)
        self._gpus = gpus
        self._respondent: Respondent | None = None
        self._requests: list[Request] = []
        self._index: dict[int, int] = {}
        self._batches: Iterator[list[tuple[Request, Response]]] | None = None
        self._files: dict[str, Path] = {}
        self._lacks: dict[Path, str] = {}

    def describe_node(self) -> tuple[str, str]:
        """The node, and the version of HQM on it."""
        import ray

        return ray.get_runtime_context().get_node_id(), __version__

    def begin(
        self, respondent: Respondent, requests: Sequence[Request], pictures: Mapping[Path, str]
    ) -> Message:
        """Begin a shard; `pictures` are the hashes to check on a node that is not the driver's."""
        if self._respondent is None or self._respondent.name != respondent.name:
            if self._respondent is not None:
                self._respondent.close()
            self._respondent = respondent
            if self._gpus > 1:
                respondent.gpus = self._gpus  # type: ignore[attr-defined]
        self._requests = list(requests)
        self._batches = None
        self._lacks = {
            path: key
            for path, key in pictures.items()
            if key not in self._files and not (path.is_file() and digest_file(path) == key)
        }
        self._requests = [self._with_local_picture(request, pictures) for request in self._requests]
        if self._lacks:
            return ("lacks", list(self._lacks))
        return ("batch", [])

    def _with_local_picture(self, request: Request, pictures: Mapping[Path, str]) -> Request:
        key = pictures.get(request.image) if request.image is not None else None
        if key in self._files:
            return replace(request, image=self._files[key])
        return request

    def receive(self, contents: Mapping[Path, bytes]) -> Message:
        """Store the pictures that this node lacks."""
        for path, content in contents.items():
            self._files[self._lacks[path]] = cache_picture(io.BytesIO(content), str(path))
        self._requests = [
            self._with_local_picture(request, self._lacks) for request in self._requests
        ]
        self._lacks = {}
        return "batch", []

    def next_batch(self) -> Message:
        """The next batch, or the end."""
        if self._lacks:
            return "batch", []
        if self._respondent is None:
            return "end", None
        try:
            if self._batches is None:
                self._index = {id(request): index for index, request in enumerate(self._requests)}
                self._batches = iter(self._respondent.answer(self._requests))
            batch = next(self._batches, None)
        except RespondentError as error:
            return "failed", error
        except Exception as error:  # an actor must not die in silence
            return "failed", RespondentError(
                f"it failed: {type(error).__name__}: {error}", location=self._respondent.name
            )
        if batch is None:
            return "end", None
        return "batch", [(self._index[id(request)], response) for request, response in batch]


_MAX_SHARD = 1024
"""Requests of a shard at most: few enough that a lost one is soon repeated, enough to be worth
loading a model.
"""
_MAX_LOSSES = 3
"""Workers that a shard may lose before its respondent is given up: the shard may be what kills
them.
"""
_POLL_INTERVAL = 2.0
"""Seconds between two queries of the cluster's resources."""
_MAX_WAIT = 30.0
"""Seconds without any actor after which a notice says what is missing."""
_MAX_ACTORS = 1024
"""Actors at most where their number is not set."""
_CALLS_AHEAD = 2
"""Calls that are queued at an actor, so that it need not wait for the driver."""


@dataclass
class _Shard:
    """Some requests to one respondent, and how often a worker was lost over them."""

    i: int
    requests: list[Request]
    losses: int = 0


@dataclass
class _Worker:
    """An actor as the driver sees it."""

    actor: Any
    ready: Any
    """The call that returns its node; None once it has returned."""
    allocation: Allocation
    model_index: int
    """The index of the respondent that it has, or was started for."""
    max_weights: float
    """The bytes of the largest weights that fit."""
    is_remote: bool = False
    """Whether it is on another node than the driver."""
    shard: _Shard | None = None
    left: set[int] = field(default_factory=set)
    """The indices of the shard's unanswered requests."""
    calls: deque[Any] = field(default_factory=deque)


def answer(
    work: Work,
    stop: Stop = never_stop,
    *,
    workers: int = 0,
    address: str = "",
    cpus: float = 1,
    gpus: float | None = None,
) -> Iterator[Batch]:
    """Put every respondent's requests to it on a cluster; batches come in whatever order they are
    ready.

    Parameters
    ----------
    work, stop
        As for `hqm.administration.engines.local.answer_all`. Respondents that cannot be moved
        (servers, recorded ones) are asked from here.
    workers
        Actors at most; 0 for as many as the cluster holds. With a number, that many are asked for
        whether the cluster holds them yet or not, which makes an autoscaler bring them.
    address
        `auto` or the address of a running cluster; empty starts one on this machine for as long as
        the run lasts.
    cpus, gpus
        What one actor takes; without `gpus`, what its model needs where the cluster has GPUs.

    Raises
    ------
    HQMError
        Ray is not installed, or there is no such cluster.
    """
    movable = [
        i for i, (respondent, requests) in enumerate(work) if requests and is_movable(respondent)
    ]
    if movable:
        started = connect(address)
        try:
            yield from _Cluster(work, movable, stop, workers, cpus, gpus).run()
        finally:
            if started:
                import ray

                ray.shutdown()
    yield from answer_here(work, [i for i in range(len(work)) if i not in movable], stop)


def connect(address: str) -> bool:
    """Join a cluster, or start one; true where one was started."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        missing = missing_library("requests to a cluster", ["ray"], "ray")
        raise RespondentError(missing.message, remedy=missing.remedy) from error
    if ray.is_initialized():
        return False
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        local: dict[str, Any] = {} if address else {"include_dashboard": False}
        ray.init(address=address or "local", log_to_driver=False, logging_level="error", **local)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        message = f"there is no Ray cluster to join: {' '.join(str(error).split())[:200]}"
        raise RespondentError(
            message,
            location=address,
            remedy="Start one with `ray start --head`, or correct the address.",
        ) from error
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():  # Ray replaces them
            signal.signal(number, handler)
    return True


def cluster_nodes() -> list[Node]:
    """The machines of the joined cluster, with all their resources."""
    import ray

    return [Node.from_ray(node) for node in ray.nodes() if node["Alive"]]


def layouts(models: Sequence[Model], *, workers: int, address: str) -> list[Layout]:
    """Return the layouts of models on a cluster, or on this machine where no address is given."""
    return plan_layouts(models, _nodes_of(address), workers)


def _nodes_of(address: str) -> list[Node]:
    """The machines of a cluster, or this one with its GPUs where no address is given."""
    if not address:
        memory = gpu_memory()
        return [Node("", float(os.cpu_count() or 1), (1.0,) * len(memory), min(memory, default=0))]
    connect(address)
    return cluster_nodes()


class _Cluster:
    """One run on a cluster: the queue of shards, and the actors that answer them."""

    def __init__(
        self,
        work: Work,
        movable: Sequence[int],
        stop: Stop,
        workers: int,
        cpus: float,
        gpus: float | None,
    ) -> None:
        import ray

        self.ray = ray
        self.work = work
        self.stop = stop
        self.max_actors = workers
        self.models = {i: Model.from_respondent(work[i][0], cpus, gpus) for i in movable}
        self.crew: list[_Worker] = []
        self.failed: set[int] = set()
        self.driver_node = ray.get_runtime_context().get_node_id()
        self._polled_at = 0.0
        self._notice_at = time.monotonic() + _MAX_WAIT
        # several shards for each actor, so that not all wait for the last one
        smallest = min(self.models.values(), key=lambda model: model.weights)
        n_fitting = len(list(allocate_all([smallest] * _MAX_ACTORS, self._nodes())))
        n_requests = sum(len(work[i][1]) for i in movable)
        size = max(16, min(_MAX_SHARD, n_requests // (4 * max(1, self.max_actors or n_fitting))))
        shards = []
        for i in movable:
            model_shards = [_Shard(i, shard) for shard in shards_of(work[i][1], size)]
            shards.append(model_shards)
        # the largest first, and all in turn: every model stands somewhere, and none is loaded twice
        shards.sort(key=lambda model_shards: -self.models[model_shards[0].i].weights)
        turns = zip_longest(*shards)
        self.queue = deque(shard for turn in turns for shard in turn if shard is not None)

    def _nodes(self) -> list[Node]:
        """The machines, with the resources that this run leaves free."""
        nodes = {node.name: node for node in cluster_nodes()}
        for worker in self.crew:
            if worker.allocation.node in nodes:
                nodes[worker.allocation.node] = nodes[worker.allocation.node].subtract(
                    worker.allocation
                )
        return list(nodes.values())

    def run(self) -> Iterator[Batch]:
        try:
            while True:
                if not self.stop():
                    self._recruit()
                    yield from self._make_room()
                    self._report_waiting()
                    for worker in self.crew:
                        if worker.shard is None and worker.ready is None:
                            self._send_shard(worker)
                calls = [worker.calls[0] if worker.calls else worker.ready for worker in self.crew]
                calls = [call for call in calls if call is not None]
                busy = any(worker.shard for worker in self.crew)
                if not busy and (self.stop() or not self.queue):
                    return
                if not calls:
                    time.sleep(0.1)
                    continue
                finished, _ = self.ray.wait(calls, num_returns=1, timeout=1.0)
                for call in finished:
                    yield from self._handle(call)
        finally:
            for worker in self.crew:
                self.ray.kill(worker.actor)

    def _recruit(self) -> None:
        """Start as many actors as are useful: at first, after a loss, and when the cluster grew."""
        if time.monotonic() - self._polled_at < _POLL_INTERVAL and self.crew:
            return
        self._polled_at = time.monotonic()
        waiting = [shard.i for shard in self.queue]
        for worker in self.crew:
            if worker.shard is None and (i := self._next(worker, waiting)) is not None:
                waiting.remove(i)
        free = (self.max_actors or _MAX_ACTORS) - len(self.crew)
        models = [self.models[i] for i in waiting[:free]]
        for number, allocation in allocate_all(models, self._nodes()):
            self._start_actor(waiting[number], allocation)
        for i in waiting[
            : max(0, self.max_actors - len(self.crew))
        ]:  # an autoscaler brings their nodes
            self._start_actor(i, Allocation("", models[0].cpus, models[0].gpus or 0.0))

    def _start_actor(self, i: int, allocation: Allocation) -> None:
        """Start an actor with an allocation; without a node, wherever Ray finds one."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if allocation.node:
            strategy = NodeAffinitySchedulingStrategy(allocation.node, soft=False)
        else:
            strategy = "DEFAULT"
        remote = self.ray.remote(
            num_cpus=allocation.cpus,
            num_gpus=allocation.gpus,
            max_restarts=0,
            scheduling_strategy=strategy,
        )(Actor)
        actor = remote.remote(int(max(1, allocation.cpus)), int(allocation.gpus))
        carries = self.models[i].weights if allocation.gpus else math.inf
        self.crew.append(_Worker(actor, actor.describe_node.remote(), allocation, i, carries))

    def _next(self, worker: _Worker, waiting: Sequence[int]) -> int | None:
        """The next respondent for a worker: the one that it holds, else the largest that fits."""
        fitting = [i for i in waiting if self.models[i].weights <= worker.max_weights]
        if worker.model_index in fitting:
            return worker.model_index
        return max(fitting, key=lambda i: self.models[i].weights, default=None)

    def _make_room(self) -> Iterator[Batch]:
        """End actors that fit no waiting respondent; give up respondents that fit nowhere."""
        waiting = [shard.i for shard in self.queue]
        for worker in [w for w in self.crew if w.shard is None and w.ready is None]:
            if waiting and self._next(worker, waiting) is None:
                self.crew.remove(worker)
                self.ray.kill(worker.actor)
                self._polled_at = 0.0
        if not self.crew and not self.max_actors:
            nodes = cluster_nodes()
            for i in dict.fromkeys(waiting):
                if allocate(self.models[i], nodes) is None:
                    yield i, self._give_up(i, misfit_error(self.models[i], nodes))

    def _report_waiting(self) -> None:
        if any(worker.ready is None for worker in self.crew):
            self._notice_at = float("inf")
        elif time.monotonic() > self._notice_at:
            self._notice_at = float("inf")
            total = self.ray.cluster_resources()
            holds = ", ".join(f"{total.get(kind, 0):g} {kind}" for kind in ("CPU", "GPU"))
            takes = f"{next(iter(self.models.values())).cpus:g} CPU"
            print(
                f"hqm: waiting for Ray: an actor takes {takes}, the cluster holds {holds}.",
                file=sys.stderr,
                flush=True,
            )

    def _send_shard(self, worker: _Worker) -> None:
        """Send the next shard, and the first calls for its batches."""
        i = self._next(worker, [shard.i for shard in self.queue])
        if i is None:
            return
        shard = next(shard for shard in self.queue if shard.i == i)
        self.queue.remove(shard)
        worker.shard = shard
        worker.model_index = shard.i
        worker.left = set(range(len(shard.requests)))
        respondent = self.work[shard.i][0]
        pictures = {}
        if worker.is_remote:
            paths = {request.image for request in shard.requests if request.image is not None}
            pictures = {path: digest_file(path) for path in paths if path.is_file()}
        worker.calls.append(worker.actor.begin.remote(respondent, shard.requests, pictures))
        worker.calls.extend(worker.actor.next_batch.remote() for _ in range(_CALLS_AHEAD))

    def _handle(self, call: Any) -> Iterator[Batch]:
        """Handle a finished call: a batch, the end of a shard, a failure, or a lost actor."""
        worker = next(w for w in self.crew if call is w.ready or (w.calls and call is w.calls[0]))
        try:
            result = self.ray.get(call)
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.ObjectLostError) as error:
            yield from self._replace_lost(worker, error)
            return
        except self.ray.exceptions.RayError as error:
            yield from self._replace_lost(worker, error, fatal=True)
            return
        if call is worker.ready:
            self._note_ready(worker, *result)
            return
        worker.calls.popleft()
        if worker.shard is not None:
            yield from self._handle_message(worker, worker.shard, *result)

    def _note_ready(self, worker: _Worker, node: str, version: str) -> None:
        """Note the node of a new actor, whose version of HQM must be the driver's."""
        worker.ready = None
        worker.is_remote = node != self.driver_node
        worker.allocation = replace(worker.allocation, node=node)
        if version != __version__:
            raise RespondentError(
                f"a node has HQM {version}, this one {__version__}",
                location=node,
                remedy="Install the same version of hqm-audit on every node.",
            )

    def _handle_message(
        self, worker: _Worker, shard: _Shard, kind: str, payload: Any
    ) -> Iterator[Batch]:
        """Handle what an actor returned: missing pictures, a batch, the end, or a failure."""
        if kind == "lacks":
            contents = {path: path.read_bytes() for path in payload}
            # the calls that wait already would be executed before the pictures are there
            worker.calls.appendleft(worker.actor.receive.remote(contents))
        elif kind == "batch":
            worker.left -= {index for index, _ in payload}
            stopping = self.stop()
            if not stopping:
                worker.calls.append(worker.actor.next_batch.remote())
            if payload:
                yield shard.i, [(shard.requests[index], response) for index, response in payload]
            if stopping and not worker.calls:
                worker.shard = None
        elif kind in ("end", "failed"):
            worker.shard = None
            worker.calls.clear()
            if kind == "failed" and shard.i not in self.failed:
                yield shard.i, self._give_up(shard.i, payload)

    def _give_up(self, i: int, error: HQMError) -> HQMError:
        """Drop all shards of a respondent."""
        self.failed.add(i)
        self.queue = deque(shard for shard in self.queue if shard.i != i)
        return error

    def _replace_lost(
        self, worker: _Worker, error: Exception, *, fatal: bool = False
    ) -> Iterator[Batch]:
        """Put back the unanswered requests of a lost actor; give up after several losses."""
        self.crew.remove(worker)
        self._polled_at = 0.0
        shard = worker.shard
        if shard is None:
            if fatal:
                raise _loss_error(error)
            return
        unanswered = [shard.requests[index] for index in sorted(worker.left)]
        if fatal or shard.losses + 1 >= _MAX_LOSSES:
            if shard.i not in self.failed:
                yield shard.i, self._give_up(shard.i, _loss_error(error))
        elif unanswered:
            self.queue.appendleft(replace(shard, requests=unanswered, losses=shard.losses + 1))


def _loss_error(error: Exception) -> HQMError:
    message = f"its Ray worker was lost: {' '.join(str(error).split())[:300]}"
    return RespondentError(message, remedy="Run the same command again: what was answered is kept.")
