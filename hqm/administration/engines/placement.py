"""Which GPUs the models of a run stand on: by the bytes of their weights and the memory of each
GPU.

Several small models share a GPU, one that is too large for a GPU spans several of a machine.
Nothing here asks Ray or a GPU: the nodes are values, so that a plan and a run place alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from hqm.errors import RespondentError
from hqm.respondents.hf_loading import weights_of

GIB = 1 << 30
_ROOM = 1.25
"""Memory that a model takes, as a multiple of its weights: keys, values and pictures stand beside
them.
"""
_CONTEXT = GIB
"""Memory that every process takes on a GPU before a model is loaded."""
_MOST_ON_ONE = 8
"""Models that share a GPU at most: more only take turns."""
_PARALLEL = re.compile(r"tensor.parallel.size=(\d+)")
"""How a name of vLLM says the GPUs that it is divided among."""
MEMORY = "gpu_memory"
"""The custom resource of a Ray node that says how many GiB each of its GPUs has."""
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
"""GiB of a GPU by the parts of the name that Ray gives it; the least where there are several."""


@dataclass(frozen=True, slots=True)
class Node:
    """A machine with what is free on it.

    Examples
    --------
    >>> Node.of({"NodeID": "a", "Resources": {"CPU": 8, "GPU": 2, "accelerator_type:H100": 1}})
    Node(name='a', cpus=8, gpus=(1.0, 1.0), memory=85899345920)
    """

    name: str
    cpus: float
    gpus: tuple[float, ...] = ()
    """The free share of each GPU."""
    memory: int = 0
    """The bytes of each GPU; 0 where they are not known."""

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> Node:
        """Read a node of `ray.nodes()`."""
        has = node["Resources"]
        kinds = [name.rpartition(":")[2] for name in has if name.startswith("accelerator_type:")]
        sizes = [
            size
            for kind in kinds
            for part, size in _ACCELERATORS.items()
            if part in kind.split("-") or part == kind
        ]
        memory = int(has.get(MEMORY, max(sizes, default=0)) * GIB)
        return cls(node["NodeID"], has.get("CPU", 0.0), (1.0,) * int(has.get("GPU", 0)), memory)

    def share(self, weights: float) -> float:
        """The GPUs that a model of so many bytes takes here: a part of one, or several whole ones.

        >>> node = Node("a", 8, (1.0,) * 4, 24 * GIB)
        >>> [node.share(size * GIB) for size in (1, 4, 14, 28, 60)]
        [0.125, 0.25, 1.0, 2.0, 4.0]
        """
        needed = weights * _ROOM + _CONTEXT
        if not self.memory:
            return 1.0
        if needed <= self.memory:
            return 1 / min(_MOST_ON_ONE, int(self.memory // needed))
        # heads are divided among GPUs, and their number is a power of two in most models
        return 2.0 ** math.ceil(math.log2(needed / self.memory))

    def used(self, place: Place) -> Node:
        """The node once something stands at this place."""
        taken = place.gpus / max(1, len(place.which))
        gpus = [
            free - taken if number in place.which else free for number, free in enumerate(self.gpus)
        ]
        return replace(self, cpus=self.cpus - place.cpus, gpus=tuple(gpus))

    def room(self, gpus: float) -> tuple[int, ...] | None:
        """The GPUs of which so much is free: the fullest that has room for a part of one."""
        count, each = max(1, math.ceil(gpus)), min(1.0, gpus)
        fitting = [n for n, free in enumerate(self.gpus) if free >= each - 1e-9]
        fitting.sort(key=lambda n: self.gpus[n])
        return None if len(fitting) < count else tuple(fitting[:count])


@dataclass(frozen=True, slots=True)
class Place:
    """Where one actor stands, and what it takes."""

    node: str
    cpus: float
    gpus: float
    which: tuple[int, ...] = ()
    """The GPUs of the node that it takes a part of, by number."""


@dataclass(frozen=True, slots=True)
class Model:
    """What an actor with this model takes."""

    name: str
    weights: float
    """Bytes as they stand on a GPU: in half precision, unless it was asked for in another format.
    """
    cpus: float = 1
    gpus: float | None = None
    """The GPUs; None where the weights decide."""
    assumed: bool = False
    """Whether the weights are not here to be measured."""

    @classmethod
    def of(cls, respondent: Any, cpus: float = 1, gpus: float | None = None) -> Model:
        """The model of a respondent that may be moved; its name may say its GPUs, for vLLM."""
        path = getattr(respondent, "path", "") or getattr(respondent, "model_path", "")
        size = weights_of(str(path), respondent.name)
        wanted = getattr(respondent, "dtype_wanted", getattr(respondent, "dtype", "auto"))
        weights = size.parameters * (4 if wanted == "float32" else 2)
        named = _PARALLEL.search(respondent.name)
        gpus = float(named[1]) if named else gpus
        return cls(respondent.name, weights, cpus, gpus, size.assumed)

    def place(self, nodes: Sequence[Node]) -> Place | None:
        """Where one more copy fits, on the fewest and smallest GPUs; None if nowhere."""
        fitting = []
        for node in nodes:
            share = self.gpus
            if share is None:
                share = node.share(self.weights) if any(other.gpus for other in nodes) else 0.0
            which = node.room(share) if share else ()
            if which is not None and node.cpus >= self.cpus:
                place = Place(node.name, self.cpus, share, which)
                fitting.append((len(which), node.memory, -node.cpus, place))
        return min(fitting, key=lambda each: each[:3])[3] if fitting else None

    def misfit(self, nodes: Sequence[Node]) -> RespondentError:
        """The error where no machine has room for it, even when nothing else runs."""
        largest = max(nodes, key=lambda node: node.memory * len(node.gpus), default=Node("", 0))
        known = f" of {largest.memory / GIB:.0f} GiB" if largest.memory else ""
        return RespondentError(
            f"its weights of {self.weights / GIB:.1f} GiB fit on no machine: the largest has"
            f" {len(largest.gpus)} GPUs{known} and {largest.cpus:g} CPUs",
            location=self.name,
            remedy="Say what an actor takes (--set ray_gpus=, --set ray_cpus=), or ask a smaller"
            " model.",
        )


def places(models: Sequence[Model], nodes: Sequence[Node]) -> Iterator[tuple[int, Place]]:
    """Place models in their order, as long as there is room.

    Yields
    ------
    The number in `models`, and where that one stands.

    Examples
    --------
    >>> nodes = [Node("a", 8, (1.0, 1.0), 24 * GIB)]
    >>> models = [Model("x", 14 * GIB), Model("y", 4 * GIB), Model("y", 4 * GIB)]
    >>> [(number, place.gpus, place.which) for number, place in places(models, nodes)]
    [(0, 1.0, (0,)), (1, 0.25, (1,)), (2, 0.25, (1,))]
    """
    left = {node.name: node for node in nodes}
    for number, model in enumerate(models):
        place = model.place(list(left.values()))
        if place is not None:
            left[place.node] = left[place.node].used(place)
            yield number, place


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a run would put one model."""

    model: Model
    engines: int
    """The copies that answer at a time; 0 where it waits for others to finish."""
    gpus: float
    """The GPUs of each copy."""
    misfit: str = ""
    """Why it stands nowhere."""

    def __str__(self) -> str:
        size = f"weights {self.model.weights / GIB:.1f} GiB{'?' * self.model.assumed}"
        if not self.engines:
            return f"waits until others have finished; {size}"
        where = f"{self.gpus:.3g} GPU{'s' * (self.gpus > 1)}" if self.gpus else "the CPU"
        copies = "1 engine" if self.engines == 1 else f"{self.engines} engines, each"
        return f"{copies} on {where}; {size}"


def laid_out(models: Sequence[Model], nodes: Sequence[Node], most: int = 0) -> list[Layout]:
    """Say where a run would put its models: the largest first, then further copies in turn.

    >>> two = [Node("a", 8, (1.0, 1.0), 24 * GIB)]
    >>> layouts = laid_out([Model("7b", 14e9), Model("2b", 4e9)], two)
    >>> [(each.model.name, each.engines, each.gpus) for each in layouts]
    [('7b', 1, 1.0), ('2b', 4, 0.25)]
    """
    order = sorted(models, key=lambda model: -model.weights)
    copies = order * (sum(len(node.gpus) * _MOST_ON_ONE + int(node.cpus) for node in nodes) or 1)
    places_of: dict[str, list[Place]] = {model.name: [] for model in models}
    for number, place in islice(places(copies, nodes), most or None):
        places_of[copies[number].name].append(place)
    return [
        Layout(
            model,
            len(stands := places_of[model.name]),
            stands[0].gpus if stands else 0.0,
            str(model.misfit(nodes)) if model.place(nodes) is None else "",
        )
        for model in models
    ]
