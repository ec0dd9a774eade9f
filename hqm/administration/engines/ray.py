"""The requests on a Ray cluster: actors on as many GPUs as their model needs (`placement`), or on
so many CPUs; each takes a shard of pictures at a time.

The driver hands out shards, collects batches as they are ready, and alone writes the store. An
actor that is lost, with its process or its node, costs nothing but time: what it had not sent back
is put into the queue again and another actor redoes it, with the same answers, since every request
carries its own seed. A node that joins gets actors of its own within seconds.

HQM of the same version must be installed on every node. The pictures need not be there: an actor on
another node that does not see a picture's file, or sees other bytes, is sent them.
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
    never,
    shards_of,
)
from hqm.administration.engines.placement import Model, Node, Place, places
from hqm.errors import HQMError, RespondentError
from hqm.files.cache import keep
from hqm.respondents.base import Request, Respondent
from hqm.respondents.hf_loading import gpu_memory, use_threads
from hqm.signature import digest_file
from hqm.types import Response
from hqm.version import __version__

# What a Ray actor does: hold one respondent at a time, and answer a shard batch by batch.

Message = tuple[str, Any]
"""`batch` with (place, response) pairs, `lacks` with paths, `end`, or `failed` with an error."""


class Actor:
    """Takes a shard, then gives its answers as it is asked for more.

    Parameters
    ----------
    threads, gpus
        How many threads, and GPUs, a model here may use.
    """

    def __init__(self, threads: int, gpus: int) -> None:
        use_threads(threads)
        self._gpus = gpus
        self._respondent: Respondent | None = None
        self._requests: list[Request] = []
        self._place: dict[int, int] = {}
        self._batches: Iterator[list[tuple[Request, Response]]] | None = None
        self._files: dict[str, Path] = {}
        self._lacks: dict[Path, str] = {}

    def where(self) -> tuple[str, str]:
        """The node, and the version of HQM on it."""
        import ray

        return ray.get_runtime_context().get_node_id(), __version__

    def take(
        self, respondent: Respondent, requests: Sequence[Request], pictures: Mapping[Path, str]
    ) -> Message:
        """Begin a shard; `pictures` are the hashes to check on a node that is not the driver's."""
        if self._respondent is None or self._respondent.name != respondent.name:
            if self._respondent is not None:
                self._respondent.close()
            self._respondent = respondent
            if self._gpus > 1:
                respondent.gpus = self._gpus  # type: ignore[attr-defined]
        self._requests, self._batches = list(requests), None
        self._lacks = {
            path: key
            for path, key in pictures.items()
            if key not in self._files and not (path.is_file() and digest_file(path) == key)
        }
        self._requests = [self._placed(request, pictures) for request in self._requests]
        return ("lacks", list(self._lacks)) if self._lacks else ("batch", [])

    def _placed(self, request: Request, pictures: Mapping[Path, str]) -> Request:
        key = pictures.get(request.image) if request.image is not None else None
        return replace(request, image=self._files[key]) if key in self._files else request

    def put(self, contents: Mapping[Path, bytes]) -> Message:
        """Keep the pictures that this node lacks."""
        for path, content in contents.items():
            self._files[self._lacks[path]] = keep(io.BytesIO(content), str(path))
        self._requests = [self._placed(request, self._lacks) for request in self._requests]
        self._lacks = {}
        return "batch", []

    def more(self) -> Message:
        """The next batch, or the end."""
        if self._lacks:
            return "batch", []
        if self._respondent is None:
            return "end", None
        try:
            if self._batches is None:
                self._place = {id(request): index for index, request in enumerate(self._requests)}
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
        return "batch", [(self._place[id(request)], response) for request, response in batch]


_LARGEST = 1024
"""Requests a shard at most: small enough that a lost one is soon redone, large enough that loading
is worth it.
"""
_LOSSES = 3
"""Workers that a shard may lose before its respondent is given up: the shard may be what kills
them.
"""
_LOOK = 2.0
"""Seconds between two looks at what the cluster holds."""
_PATIENCE = 30.0
"""Seconds without any actor after which it is said what is being waited for."""
_CROWD = 1024
"""Actors at most that are made where nobody says how many."""
_AHEAD = 2
"""Calls that wait at an actor, so that it need not wait for the driver."""


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
    """The call that says on which node it is; None once it is there."""
    place: Place
    holds: int
    """The respondent that it has, or was made for."""
    carries: float
    """The bytes of the largest weights that it has room for."""
    far: bool = False
    """Whether it is on another node than the driver."""
    shard: _Shard | None = None
    left: set[int] = field(default_factory=set)
    """The places in the shard that it has not answered."""
    calls: deque[Any] = field(default_factory=deque)


def answer_on_ray(
    work: Work,
    stop: Stop = never,
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
    away = [
        i for i, (respondent, requests) in enumerate(work) if requests and is_movable(respondent)
    ]
    if away:
        started = connect(address)
        try:
            yield from _Cluster(work, away, stop, workers, cpus, gpus).run()
        finally:
            if started:
                import ray

                ray.shutdown()
    yield from answer_here(work, [i for i in range(len(work)) if i not in away], stop)


def connect(address: str) -> bool:
    """Join a cluster, or start one; true where one was started."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise RespondentError(
            "Ray is not installed", remedy="Install it: pip install 'hqm-audit[ray]'."
        ) from error
    if ray.is_initialized():
        return False
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        local: dict[str, Any] = {} if address else {"include_dashboard": False}
        ray.init(address=address or "local", log_to_driver=False, logging_level="error", **local)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        what = f"there is no Ray cluster to join: {' '.join(str(error).split())[:200]}"
        raise RespondentError(
            what,
            location=address,
            remedy="Start one with `ray start --head`, or correct the address.",
        ) from error
    if threading.current_thread() is threading.main_thread():
        for number, handler in before.items():  # Ray puts its own in their place
            signal.signal(number, handler)
    return True


def cluster_nodes() -> list[Node]:
    """The machines of the cluster that was joined, as if nothing ran on them."""
    import ray

    return [Node.of(node) for node in ray.nodes() if node["Alive"]]


def nodes_of(address: str) -> list[Node]:
    """The machines of a cluster, or this one with its GPUs where no address is given."""
    if not address:
        memory = gpu_memory()
        return [Node("", float(os.cpu_count() or 1), (1.0,) * len(memory), min(memory, default=0))]
    connect(address)
    return cluster_nodes()


class _Cluster:
    """One run on a cluster: the queue of shards, and the actors that take them."""

    def __init__(
        self,
        work: Work,
        away: Sequence[int],
        stop: Stop,
        workers: int,
        cpus: float,
        gpus: float | None,
    ) -> None:
        import ray

        self.ray, self.work, self.stop, self.most = ray, work, stop, workers
        self.models = {i: Model.of(work[i][0], cpus, gpus) for i in away}
        self.crew: list[_Worker] = []
        self.failed: set[int] = set()
        self.here = ray.get_runtime_context().get_node_id()
        self._looked = 0.0
        self._patient_until = time.monotonic() + _PATIENCE
        # some shards for each actor, so that the last one does not keep all waiting
        smallest = min(self.models.values(), key=lambda model: model.weights)
        room = len(list(places([smallest] * _CROWD, self._nodes())))
        asked = sum(len(work[i][1]) for i in away)
        size = max(16, min(_LARGEST, asked // (4 * max(1, self.most or room))))
        shards = [[_Shard(i, shard) for shard in shards_of(work[i][1], size)] for i in away]
        # the largest first, and all in turn: every model stands somewhere, and none is loaded twice
        shards.sort(key=lambda own: -self.models[own[0].i].weights)
        turns = zip_longest(*shards)
        self.queue = deque(shard for turn in turns for shard in turn if shard is not None)

    def _nodes(self) -> list[Node]:
        """The machines, with what this run leaves free on them."""
        nodes = {node.name: node for node in cluster_nodes()}
        for worker in self.crew:
            if worker.place.node in nodes:
                nodes[worker.place.node] = nodes[worker.place.node].used(worker.place)
        return list(nodes.values())

    def run(self) -> Iterator[Batch]:
        try:
            while True:
                if not self.stop():
                    self._recruit()
                    yield from self._make_room()
                    self._say_what_is_missing()
                    for worker in self.crew:
                        if worker.shard is None and worker.ready is None:
                            self._give(worker)
                calls = [worker.calls[0] if worker.calls else worker.ready for worker in self.crew]
                calls = [call for call in calls if call is not None]
                busy = any(worker.shard for worker in self.crew)
                if not busy and (self.stop() or not self.queue):
                    return
                if not calls:
                    time.sleep(0.1)
                    continue
                done, _ = self.ray.wait(calls, num_returns=1, timeout=1.0)
                for call in done:
                    yield from self._hear(call)
        finally:
            for worker in self.crew:
                self.ray.kill(worker.actor)

    def _recruit(self) -> None:
        """Make actors up to what is wanted and useful: at the start, when one was lost, and when
        the cluster grew.
        """
        if time.monotonic() - self._looked < _LOOK and self.crew:
            return
        self._looked = time.monotonic()
        waiting = [shard.i for shard in self.queue]
        for worker in self.crew:
            if worker.shard is None and (i := self._next(worker, waiting)) is not None:
                waiting.remove(i)
        free = (self.most or _CROWD) - len(self.crew)
        wanted = [self.models[i] for i in waiting[:free]]
        for number, place in places(wanted, self._nodes()):
            self._hire(waiting[number], place)
        for i in waiting[: max(0, self.most - len(self.crew))]:  # an autoscaler brings their nodes
            self._hire(i, Place("", wanted[0].cpus, wanted[0].gpus or 0.0))

    def _hire(self, i: int, place: Place) -> None:
        """Make an actor at a place; without a node, wherever Ray finds one."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(place.node, soft=False) if place.node else "DEFAULT"
        remote = self.ray.remote(
            num_cpus=place.cpus, num_gpus=place.gpus, max_restarts=0, scheduling_strategy=there
        )(Actor)
        actor = remote.remote(int(max(1, place.cpus)), int(place.gpus))
        carries = self.models[i].weights if place.gpus else math.inf
        self.crew.append(_Worker(actor, actor.where.remote(), place, i, carries))

    def _next(self, worker: _Worker, waiting: Sequence[int]) -> int | None:
        """Of the respondents that wait, the one that a worker takes: its own, else the largest that
        is not larger.
        """
        fitting = [i for i in waiting if self.models[i].weights <= worker.carries]
        if worker.holds in fitting:
            return worker.holds
        return max(fitting, key=lambda i: self.models[i].weights, default=None)

    def _make_room(self) -> Iterator[Batch]:
        """End actors for which nothing waits while others wait; give up what fits nowhere."""
        waiting = [shard.i for shard in self.queue]
        for worker in [w for w in self.crew if w.shard is None and w.ready is None]:
            if waiting and self._next(worker, waiting) is None:
                self.crew.remove(worker)
                self.ray.kill(worker.actor)
                self._looked = 0.0
        if not self.crew and not self.most:
            nodes = cluster_nodes()
            for i in dict.fromkeys(waiting):
                if self.models[i].place(nodes) is None:
                    yield i, self._give_up(i, self.models[i].misfit(nodes))

    def _say_what_is_missing(self) -> None:
        if any(worker.ready is None for worker in self.crew):
            self._patient_until = float("inf")
        elif time.monotonic() > self._patient_until:
            self._patient_until = float("inf")
            total = self.ray.cluster_resources()
            holds = ", ".join(f"{total.get(kind, 0):g} {kind}" for kind in ("CPU", "GPU"))
            takes = f"{next(iter(self.models.values())).cpus:g} CPU"
            print(
                f"hqm: waiting for Ray: an actor takes {takes}, the cluster holds {holds}.",
                file=sys.stderr,
                flush=True,
            )

    def _give(self, worker: _Worker) -> None:
        """The next shard, and the first calls for its batches."""
        i = self._next(worker, [shard.i for shard in self.queue])
        if i is None:
            return
        shard = next(shard for shard in self.queue if shard.i == i)
        self.queue.remove(shard)
        worker.shard, worker.holds = shard, shard.i
        worker.left = set(range(len(shard.requests)))
        respondent = self.work[shard.i][0]
        pictures = {}
        if worker.far:
            paths = {request.image for request in shard.requests if request.image is not None}
            pictures = {path: digest_file(path) for path in paths if path.is_file()}
        worker.calls.append(worker.actor.take.remote(respondent, shard.requests, pictures))
        worker.calls.extend(worker.actor.more.remote() for _ in range(_AHEAD))

    def _hear(self, call: Any) -> Iterator[Batch]:
        """What came of a call: a batch, the end of a shard, a failure, or the loss of the actor."""
        worker = next(w for w in self.crew if call is w.ready or (w.calls and call is w.calls[0]))
        try:
            result = self.ray.get(call)
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.ObjectLostError) as error:
            yield from self._lost(worker, error)
            return
        except self.ray.exceptions.RayError as error:
            yield from self._lost(worker, error, fatal=True)
            return
        if call is worker.ready:
            worker.ready = None
            node, version = result
            worker.far = node != self.here
            worker.place = replace(worker.place, node=node)
            if version != __version__:
                remedy = "Install the same version of hqm-audit on every node."
                raise RespondentError(
                    f"a node has HQM {version}, this one {__version__}",
                    location=node,
                    remedy=remedy,
                )
            return
        worker.calls.popleft()
        shard = worker.shard
        if shard is None:
            return
        kind, payload = result
        if kind == "lacks":
            wanted = {path: path.read_bytes() for path in payload}
            # what waits in line would ask before the pictures are there
            worker.calls.appendleft(worker.actor.put.remote(wanted))
        elif kind == "batch":
            worker.left -= {index for index, _ in payload}
            stopping = self.stop()
            if not stopping:
                worker.calls.append(worker.actor.more.remote())
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
        """Ask a respondent nothing more."""
        self.failed.add(i)
        self.queue = deque(shard for shard in self.queue if shard.i != i)
        return error

    def _lost(self, worker: _Worker, error: Exception, *, fatal: bool = False) -> Iterator[Batch]:
        """Put back what a lost actor had not answered; give its respondent up when that keeps
        happening.
        """
        self.crew.remove(worker)
        self._looked = 0.0
        shard = worker.shard
        if shard is None:
            if fatal:
                raise _given_up(error)
            return
        rest = [shard.requests[index] for index in sorted(worker.left)]
        if fatal or shard.losses + 1 >= _LOSSES:
            if shard.i not in self.failed:
                yield shard.i, self._give_up(shard.i, _given_up(error))
        elif rest:
            self.queue.appendleft(replace(shard, requests=rest, losses=shard.losses + 1))


def _given_up(error: Exception) -> HQMError:
    what = f"its Ray worker was lost: {' '.join(str(error).split())[:300]}"
    return RespondentError(what, remedy="Run the same command again: what was answered is kept.")
