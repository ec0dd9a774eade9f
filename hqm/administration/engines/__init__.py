"""Engines run the requests: processes of this machine (`local`), or a Ray cluster (`ray`).

An engine takes respondents with their requests and gives batches of answers in whatever order they
are ready. It never writes the store: the driver does, alone. Answers do not depend on the engine,
since every request draws from its own random stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from hqm.administration.engines.local import (
    Batch,
    Stop,
    Work,
    answer_all,
    get_ready,
    import_ahead,
    is_movable,
    local_gpus,
    never,
    worker_count,
)
from hqm.administration.engines.placement import Layout, Model, laid_out
from hqm.errors import check_known
from hqm.respondents.base import Respondent

Engine = Callable[[Work, Stop], Iterator[Batch]]
"""Puts the work to the respondents until it is done, or until the second argument says to stop."""

ENGINES = ("local", "ray")


def make_engine(
    name: str = "local",
    *,
    workers: int = 1,
    address: str = "",
    cpus: float = 1,
    gpus: float | None = None,
) -> Engine:
    """The engine of this name.

    Parameters
    ----------
    name
        `local` or `ray`.
    workers
        Local: processes that share the work, 0 finds a number. Ray: actors at most, 0 as many as
        the cluster holds.
    address
        Ray: `auto` or the address of a running cluster; empty for one started on this machine.
    cpus, gpus
        Ray: what one actor takes. Without `gpus`, one GPU each where the cluster has any.

    Raises
    ------
    UsageError
        There is no such engine.

    Examples
    --------
    >>> make_engine("local", workers=2)  # doctest: +ELLIPSIS
    functools.partial(<function answer_all at ...>, workers=2)
    """
    check_known(name, ENGINES, f"there is no engine {name!r}", "The engines are {}.")
    if name == "local":
        return partial(answer_all, workers=workers)
    from hqm.administration.engines.ray import answer_on_ray

    return partial(answer_on_ray, workers=workers, address=address, cpus=cpus, gpus=gpus)


def layouts_of(
    respondents: Sequence[Respondent],
    *,
    name: str,
    workers: int,
    address: str,
    cpus: float,
    gpus: float | None,
) -> dict[str, Layout]:
    """Where an engine would put the models that it runs, by the respondents' names; its parameters
    are those of `make_engine`.
    """
    movable = [respondent for respondent in respondents if is_movable(respondent)]
    if name == "ray" and movable:
        from hqm.administration.engines.ray import nodes_of

        models = [Model.of(respondent, cpus, gpus) for respondent in movable]
        return {own.model.name: own for own in laid_out(models, nodes_of(address), workers)}
    devices = local_gpus(movable)
    count = worker_count(workers, movable, devices) if devices else 1
    return {
        r.name: Layout(Model.of(r), count, float(getattr(r, "device", "").startswith("cuda")))
        for r in movable
    }


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
    "never",
]
