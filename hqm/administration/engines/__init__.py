"""Engines run the requests: processes of this machine (`local`), or those of an extension (`ray`).

An engine takes respondents with their requests and yields batches of answers as they are ready.
Only the driver writes the store. Answers do not depend on the engine, because every request has its
own random stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from hqm.administration.engines.local import (
    Batch,
    Stop,
    Work,
    answer_all,
    get_ready,
    import_ahead,
    is_movable,
    local_gpus,
    never_stop,
    worker_count,
)
from hqm.administration.engines.placement import Layout, Model
from hqm.errors import check_known
from hqm.extensions import load_extension, names_in
from hqm.respondents.base import Respondent

Engine = Callable[[Work, Stop], Iterator[Batch]]
"""Lets respondents answer their requests, until all are answered or the second argument is true."""

GROUP = "hqm.engines"
"""The group of entry points by which a package brings an engine: a module with `answer` and
`layouts`, which take what `make_engine` and `layouts_of` are given."""
ENGINES = ("local", "ray")


def make_engine(
    name: str = "local",
    *,
    workers: int = 1,
    address: str = "",
    cpus: float = 1,
    gpus: float | None = None,
) -> Engine:
    """Return the engine of this name.

    Parameters
    ----------
    name
        `local` or `ray`.
    workers
        Local: processes that share the work; 0 chooses a number. Ray: actors at most; 0 for as many
        as fit the cluster.
    address
        Ray: `auto` or the address of a running cluster; empty for one started on this machine.
    cpus, gpus
        Ray: the resources of one actor. Without `gpus`, they follow from the model's weights.

    Raises
    ------
    UsageError
        There is no such engine, or the extension that brings it is not installed.

    Examples
    --------
    >>> make_engine("local", workers=2)  # doctest: +ELLIPSIS
    functools.partial(<function answer_all at ...>, workers=2)
    """
    if name == "local":
        return partial(answer_all, workers=workers)
    answer = _load_engine(name).answer
    return partial(answer, workers=workers, address=address, cpus=cpus, gpus=gpus)


class _EngineModule(Protocol):
    """What the module of an engine has, as the docstring of `GROUP` says."""

    def answer(
        self,
        work: Work,
        stop: Stop = ...,
        *,
        workers: int,
        address: str,
        cpus: float,
        gpus: float | None,
    ) -> Iterator[Batch]: ...

    def layouts(
        self, models: Sequence[Model], *, workers: int, address: str
    ) -> Sequence[Layout]: ...


def _load_engine(name: str) -> _EngineModule:
    """Load an engine that an installed package brings."""
    engines = dict.fromkeys((*ENGINES, *names_in(GROUP)))
    check_known(name, tuple(engines), f"there is no engine {name!r}", "The engines are {}.")
    engine: _EngineModule = load_extension(GROUP, name, "an engine")
    return engine


def layouts_of(
    respondents: Sequence[Respondent],
    *,
    name: str,
    workers: int,
    address: str,
    cpus: float,
    gpus: float | None,
) -> dict[str, Layout]:
    """Respondent -> the layout of its model by an engine; the parameters are `make_engine`'s."""
    movable = [respondent for respondent in respondents if is_movable(respondent)]
    if name != "local" and movable:
        models = [Model.from_respondent(respondent, cpus, gpus) for respondent in movable]
        engine = _load_engine(name)
        layouts = list(engine.layouts(models, workers=workers, address=address))
    else:
        devices = local_gpus(movable)
        count = worker_count(workers, movable, devices) if devices else 1
        layouts = []
        for respondent in movable:
            gpus = float(getattr(respondent, "device", "").startswith("cuda"))
            layouts.append(Layout(Model.from_respondent(respondent), count, gpus))
    return {layout.model.name: layout for layout in layouts}


__all__ = [
    "ENGINES",
    "Batch",
    "Engine",
    "Stop",
    "Work",
    "get_ready",
    "import_ahead",
    "layouts_of",
    "make_engine",
    "never_stop",
]
