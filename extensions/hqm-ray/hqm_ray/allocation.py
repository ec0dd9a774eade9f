"""The allocation of GPUs to the models of a run, by the bytes of their weights.

Several small models share a GPU; one that is too large for a GPU is divided among several of a
machine. This module queries neither Ray nor a GPU, so that a plan and a run allocate equally.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any

from hqm.administration.engines.placement import GIB, Layout, Model
from hqm.errors import RespondentError

_MEMORY_FACTOR = 1.25
"""The memory of a model as a multiple of its weights, with keys, values and pictures."""
_CONTEXT = GIB
"""The memory of a process on a GPU before a model is loaded."""
_MAX_MODELS_PER_GPU = 8
"""Models that share a GPU at most: more of them would only wait for one another."""
MEMORY = "gpu_memory"
"""The custom resource of a Ray node with the GiB of each of its GPUs."""
_ACCELERATORS = {
    "P4": 8,
    "K80": 12,
    "T4": 16,
    "V100": 16,
    "P100": 16,
    "A10G": 24,
    "L4": 24,
    "A100": 40,
    "L40S": 48,
    "H100": 80,
    "RTX-PRO-6000": 96,
    "H20": 96,
    "H200": 141,
    "B200": 180,
    "MI100": 32,
    "MI210": 64,
    "MI250X": 64,
    "MI300A": 128,
    "MI300X": 192,
    "MI325X": 256,
    "40G": 40,
    "80G": 80,
}
"""GiB of a GPU by a part of its name in Ray; the smallest of several sizes."""


@dataclass(frozen=True, slots=True)
class Node:
    """A machine with its free resources.

    Examples
    --------
    >>> resources = {"CPU": 8, "GPU": 2, "accelerator_type:H100": 1}
    >>> Node.from_ray({"NodeID": "a", "Resources": resources})
    Node(name='a', cpus=8, gpus=(1.0, 1.0), memory=85899345920)
    """

    name: str
    cpus: float
    gpus: tuple[float, ...] = ()
    """The free share of each GPU."""
    memory: int = 0
    """The bytes of each GPU; 0 where they are not known."""

    @classmethod
    def from_ray(cls, node: Mapping[str, Any]) -> Node:
        """Read a node of `ray.nodes()`."""
        resources = node["Resources"]
        kinds = [
            name.rpartition(":")[2] for name in resources if name.startswith("accelerator_type:")
        ]
        sizes = [
            size
            for kind in kinds
            for name, size in _ACCELERATORS.items()
            if name in kind.split("-") or name == kind
        ]
        memory = int(resources.get(MEMORY, max(sizes, default=0)) * GIB)
        return cls(
            node["NodeID"], resources.get("CPU", 0.0), (1.0,) * int(resources.get("GPU", 0)), memory
        )

    def share(self, weights: float) -> float:
        """The GPUs that a model of so many bytes needs here: a share of one, or several.

        >>> node = Node("a", 8, (1.0,) * 4, 24 * GIB)
        >>> [node.share(size * GIB) for size in (1, 4, 14, 28, 60)]
        [0.125, 0.25, 1.0, 2.0, 4.0]
        """
        required = weights * _MEMORY_FACTOR + _CONTEXT
        if not self.memory:
            return 1.0
        if required <= self.memory:
            return 1 / min(_MAX_MODELS_PER_GPU, int(self.memory // required))
        # heads are divided among GPUs, and their number is a power of two in most models
        return 2.0 ** math.ceil(math.log2(required / self.memory))

    def subtract(self, allocation: Allocation) -> Node:
        """The node with what an allocation leaves free."""
        gpu_share = allocation.gpus / max(1, len(allocation.gpu_indices))
        gpus = [
            free - gpu_share if number in allocation.gpu_indices else free
            for number, free in enumerate(self.gpus)
        ]
        return replace(self, cpus=self.cpus - allocation.cpus, gpus=tuple(gpus))

    def free_gpus(self, gpus: float) -> tuple[int, ...] | None:
        """The GPUs with so much free; for a share of one, the fullest that has it."""
        count = max(1, math.ceil(gpus))
        share = min(1.0, gpus)
        fitting = [n for n, free in enumerate(self.gpus) if free >= share - 1e-9]
        fitting.sort(key=lambda n: self.gpus[n])
        if len(fitting) < count:
            return None
        return tuple(fitting[:count])


@dataclass(frozen=True, slots=True)
class Allocation:
    """The resources of one actor, and their machine."""

    node: str
    cpus: float
    gpus: float
    gpu_indices: tuple[int, ...] = ()
    """The numbers of its GPUs on the node."""


def allocate(model: Model, nodes: Sequence[Node]) -> Allocation | None:
    """Return the allocation of one more copy of a model, on the fewest and smallest GPUs; None if none fits."""
    fitting = []
    has_gpus = any(node.gpus for node in nodes)
    for node in nodes:
        share = model.gpus
        if share is None:
            share = node.share(model.weights) if has_gpus else 0.0
        gpu_indices = node.free_gpus(share) if share else ()
        if gpu_indices is not None and node.cpus >= model.cpus:
            allocation = Allocation(node.name, model.cpus, share, gpu_indices)
            fitting.append((len(gpu_indices), node.memory, -node.cpus, allocation))
    if fitting:
        return min(fitting, key=itemgetter(0, 1, 2))[3]
    return None


def misfit_error(model: Model, nodes: Sequence[Node]) -> RespondentError:
    """Return the error for a model that fits on no machine, even an empty one."""
    largest = max(nodes, key=lambda node: node.memory * len(node.gpus), default=Node("", 0))
    memory = f" of {largest.memory / GIB:.0f} GiB" if largest.memory else ""
    return RespondentError(
        f"its weights of {model.weights / GIB:.1f} GiB fit on no machine: the largest has"
        f" {len(largest.gpus)} GPUs{memory} and {largest.cpus:g} CPUs",
        location=model.name,
        remedy="Say what an actor takes (--set ray_gpus=, --set ray_cpus=), or ask a smaller"
        " model.",
    )


def allocate_all(
    models: Sequence[Model], nodes: Sequence[Node]
) -> Iterator[tuple[int, Allocation]]:
    """Allocate models in their order, those that fit.

    Yields
    ------
    The index in `models`, and its allocation.

    Examples
    --------
    >>> nodes = [Node("a", 8, (1.0, 1.0), 24 * GIB)]
    >>> models = [Model("x", 14 * GIB), Model("y", 4 * GIB), Model("y", 4 * GIB)]
    >>> [(index, found.gpus, found.gpu_indices) for index, found in allocate_all(models, nodes)]
    [(0, 1.0, (0,)), (1, 0.25, (1,)), (2, 0.25, (1,))]
    """
    left = {node.name: node for node in nodes}
    for number, model in enumerate(models):
        allocation = allocate(model, list(left.values()))
        if allocation is not None:
            left[allocation.node] = left[allocation.node].subtract(allocation)
            yield number, allocation


def plan_layouts(
    models: Sequence[Model], nodes: Sequence[Node], max_engines: int = 0
) -> list[Layout]:
    """Plan the allocation of models: the largest first, then further copies in turn.

    >>> two = [Node("a", 8, (1.0, 1.0), 24 * GIB)]
    >>> layouts = plan_layouts([Model("7b", 14e9), Model("2b", 4e9)], two)
    >>> [(layout.model.name, layout.engines, layout.gpus) for layout in layouts]
    [('7b', 1, 1.0), ('2b', 4, 0.25)]
    """
    order = sorted(models, key=lambda model: -model.weights)
    copies = order * (
        sum(len(node.gpus) * _MAX_MODELS_PER_GPU + int(node.cpus) for node in nodes) or 1
    )
    allocations: dict[str, list[Allocation]] = {model.name: [] for model in models}
    for number, allocation in islice(allocate_all(copies, nodes), max_engines or None):
        allocations[copies[number].name].append(allocation)
    return [
        Layout(
            model,
            len(stands := allocations[model.name]),
            stands[0].gpus if stands else 0.0,
            str(misfit_error(model, nodes)) if allocate(model, nodes) is None else "",
        )
        for model in models
    ]
