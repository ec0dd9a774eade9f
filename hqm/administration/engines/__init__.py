"""Engines run the requests: processes of this machine (`local`), or a Ray cluster (`ray`).

An engine takes respondents with their requests and yields batches of answers as they are ready.
Only the driver writes the store. Answers do not depend on the engine, because every request has its
own random stream.
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
    never_stop,
    worker_count,
)
from hqm.administration.engines.placement import Layout, Model, plan_layouts
from hqm.errors import check_known
from hqm.respondents.base import Respondent

Engine = Callable[[Work, Stop], Iterator[Batch]]
"""Lets respondents answer their requests, until all are answered or the second argument is true."""

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
    """Respondent -> the layout of its model by an engine; the parameters are `make_engine`'s."""
    movable = [respondent for respondent in respondents if is_movable(respondent)]
    if name == "ray" and movable:
        from hqm.administration.engines.ray import nodes_of

        models = [Model.from_respondent(respondent, cpus, gpus) for respondent in movable]
        return {
            layout.model.name: layout for layout in plan_layouts(models, nodes_of(address), workers)
        }
    devices = local_gpus(movable)
    count = worker_count(workers, movable, devices) if devices else 1
    return {
        r.name: Layout(
            Model.from_respondent(r), count, float(getattr(r, "device", "").startswith("cuda"))
        )
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
    "never_stop",
]
