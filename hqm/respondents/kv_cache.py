"""A cache of keys and values in preallocated memory: new tokens are written in place, never copied.

All rows end at the same position. A shorter row is padded on the left with positions that the mask
hides, so rows of different pictures run in one batch, and rows can leave and join it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import sub
from typing import TYPE_CHECKING

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from hqm.respondents.attention import tensor_on
from hqm.respondents.step_graph import StepGraphs

if TYPE_CHECKING:
    from transformers import Cache

Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of every layer, each of shape (rows, heads, places, width)."""


@dataclass(frozen=True)
class CacheRows:
    """Rows of a cache that are copied into another, each from its `begin` to before its `end`."""

    layers: Layers
    rows: Sequence[int]
    begin: Sequence[int]
    end: Sequence[int]

    def copy(self) -> CacheRows:
        """Copy these rows into memory of their own."""
        rows = tensor_on(self.rows, self.layers[0][0].device)
        layers = [
            (keys.index_select(0, rows), values.index_select(0, rows))
            for keys, values in self.layers
        ]
        return CacheRows(layers, range(len(self.rows)), self.begin, self.end)


class BufferPool:
    """Memory of finished rows, reused for new ones on a CPU.

    Allocating new memory on a CPU takes as long as filling it. On a GPU torch reuses memory itself.

    Parameters
    ----------
    reuses
        Whether the memory is a CPU's; a GPU's is freed as soon as it has been copied.
    graphs
        How the steps over this memory are recorded.
    """

    def __init__(self, reuses: bool, graphs: StepGraphs) -> None:
        self.reuses = reuses
        self.graphs = graphs
        self._free: list[torch.Tensor] = []

    def forget(self) -> None:
        """Free the memory."""
        self._free.clear()
        self.graphs.forget()

    def allocate(self, shape: tuple[int, ...], template: torch.Tensor) -> torch.Tensor:
        """Return memory of this shape, uncleared; on a CPU it holds finite numbers."""
        count = math.prod(shape)
        # By size and not by shape: memory is a row of numbers that any batch may use.
        fitting = [f for f in self._free if f.numel() >= count and f.dtype == template.dtype]
        if not fitting:
            self._free.clear()
            if not self.reuses:
                return torch.empty(shape, dtype=template.dtype, device=template.device)
            # some more may spare the next ones to ask
            return torch.zeros(count + count // 4, dtype=template.dtype)[:count].view(shape)
        # the smallest that fits, which leaves large memory to large batches
        best = min(fitting, key=lambda f: f.numel())
        self._free = [f for f in self._free if f is not best]
        return best[:count].view(shape)

    def take_back(self, buffers: KeyValueBuffers) -> None:
        """Take back the memory of finished rows."""
        if self.reuses:
            for memory in chain.from_iterable(buffers.layers):
                # All of it: the buffer may be a view of its beginning.
                self._free.append(torch.empty(0, dtype=memory.dtype).set_(memory.untyped_storage()))


class KeyValueBuffers:
    """The keys and values of rows that end at the same position, with free positions behind them.

    Parameters
    ----------
    layers
        The memory.
    length
        How many places are taken.
    graphs
        How steps over this memory are recorded.
    """

    def __init__(self, layers: Layers, length: int, graphs: StepGraphs) -> None:
        self.layers = layers
        self.length = length
        self.graphs = graphs

    @classmethod
    def from_rows(
        cls, sources: Sequence[CacheRows], n_free: int, pool: BufferPool
    ) -> KeyValueBuffers:
        """Copy rows so that all end at the same position, with `n_free` free positions behind.

        On a GPU the caches that they come from are emptied, layer by layer.
        """
        sources = _concatenate(sources)
        length = max(max(map(sub, source.end, source.begin)) for source in sources)
        count = sum(len(source.rows) for source in sources)
        # which rows go where is found once for all layers
        device = sources[0].layers[0][0].device
        moves = []
        for source in sources:
            for group, begin, end in _group_rows(source):
                moves.append((source, _row_index(group, device), len(group), begin, end))
        # what nobody sees is multiplied by a weight of nought, which only a number survives; 16
        # bits hold infinity soon
        holds_numbers = pool.reuses and sources[0].layers[0][0].dtype.itemsize >= 4
        layers = []
        for number in range(len(sources[0].layers)):
            pair = []
            for side in (0, 1):
                template = sources[0].layers[number][side]
                memory = pool.allocate(
                    (count, template.shape[1], length + n_free, template.shape[3]), template
                )
                if not holds_numbers:
                    memory[:, :, length:] = 0
                row = 0
                for source, rows, n_rows, begin, end in moves:
                    first = length - (end - begin)
                    if not holds_numbers:
                        memory[row : row + n_rows, :, :first] = 0
                    _copy(
                        source.layers[number][side][:, :, begin:end],
                        rows,
                        memory[row : row + n_rows, :, first:length],
                    )
                    row += n_rows
                pair.append(memory)
            layers.append((pair[0], pair[1]))
            if not pool.reuses:
                for source in sources:  # both do not fit into a GPU's memory
                    source.layers[number] = (pair[0][:0], pair[1][:0])
        return cls(layers, length, pool.graphs)

    @property
    def capacity(self) -> int:
        """How many places there are."""
        return int(self.layers[0][0].shape[2])

    @property
    def nbytes(self) -> int:
        """The bytes of the memory."""
        return sum(side.nbytes for side in chain.from_iterable(self.layers))

    def cache(
        self,
        rows: slice = slice(None),
        *,
        gap: int = 0,
        whole_memory: bool = False,
        write_positions: torch.Tensor | None = None,
    ) -> DynamicCache:
        """Return a cache of transformers over these rows that writes into this memory after a gap.

        Where `whole_memory`, attention gets all of the memory, the free positions included. A
        recorded step reads from `write_positions`, a tensor, which positions it writes to.
        """
        cache = DynamicCache()
        cache.layers = [
            _layer(keys[rows], values[rows], self.length + gap, whole_memory, write_positions)
            for keys, values in self.layers
        ]
        return cache


STATES = frozenset(
    {"conv_states", "recurrent_states", "is_conv_states_initialized", "has_previous_state"}
)
"""What a layer of transformers holds that remembers by a state: linear attention, a state space."""


def layers_of(cache: Cache) -> Layers:
    """The keys and values of a cache of transformers.

    Raises
    ------
    ValueError
        A layer remembers by a state, which cannot be put together from places.
    """
    if any(STATES & vars(layer).keys() for layer in cache.layers):
        raise ValueError("a layer remembers by a state")
    return [(layer.keys, layer.values) for layer in cache.layers]


def _concatenate(sources: Sequence[CacheRows]) -> list[CacheRows]:
    """Join neighbouring parts of one cache."""
    joined: list[CacheRows] = []
    for source in sources:
        if joined and joined[-1].layers is source.layers:
            last = joined.pop()
            source = CacheRows(
                source.layers,
                [*last.rows, *source.rows],
                [*last.begin, *source.begin],
                [*last.end, *source.end],
            )
        joined.append(source)
    return joined


def _group_rows(source: CacheRows) -> list[tuple[list[int], int, int]]:
    """Group neighbouring rows that have the same positions."""
    runs: list[tuple[list[int], int, int]] = []
    for row, begin, end in zip(source.rows, source.begin, source.end, strict=True):
        if runs and runs[-1][1:] == (begin, end):
            runs[-1][0].append(row)
        else:
            runs.append(([row], begin, end))
    return runs


def _row_index(rows: list[int], device: torch.device) -> torch.Tensor | slice:
    """Return an index for these rows: a slice, which copies nothing, where they are consecutive."""
    if rows == list(range(rows[0], rows[0] + len(rows))):
        return slice(rows[0], rows[0] + len(rows))
    return tensor_on(rows, device)


def _copy(source: torch.Tensor, rows: torch.Tensor | slice, target: torch.Tensor) -> None:
    """Copy the rows of one tensor that `_row_index` selects into another of their shape, once."""
    if isinstance(rows, slice):
        target.copy_(source[rows])
    else:
        torch.index_select(source, 0, rows, out=target)


class _BufferedLayer(DynamicLayer):  # type: ignore[misc]
    """A layer that writes into preallocated memory."""

    memory: tuple[torch.Tensor, torch.Tensor]
    whole_memory: bool
    write_positions: torch.Tensor | None
    keys: torch.Tensor
    values: torch.Tensor

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        *_args: object,
        **_settings: object,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        # a recorded step reads its positions from a tensor: a slice would be recorded as it was
        if self.write_positions is not None:
            for memory, states in zip(self.memory, (key_states, value_states), strict=True):
                memory.index_copy_(2, self.write_positions, states)
            return self.memory
        begin = self.keys.shape[2]
        end = begin + key_states.shape[2]
        for memory, states in zip(self.memory, (key_states, value_states), strict=True):
            memory[:, :, begin:end] = states
        self.keys, self.values = (memory[:, :, :end] for memory in self.memory)
        if self.whole_memory:
            return self.memory
        return (self.keys, self.values)


def _layer(
    keys: torch.Tensor,
    values: torch.Tensor,
    length: int,
    whole_memory: bool,
    write_positions: torch.Tensor | None,
) -> _BufferedLayer:
    """Build a layer over this memory, of which `length` positions are used."""
    layer = _BufferedLayer()
    layer.memory = (keys, values)
    layer.whole_memory = whole_memory
    layer.write_positions = write_positions
    layer.keys = keys[:, :, :length]
    layer.values = values[:, :, :length]
    layer.dtype = keys.dtype
    layer.device = keys.device
    layer.is_initialized = True
    return layer
