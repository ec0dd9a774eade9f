"""A decoding step as one CUDA graph.

A step of a large model is some thousand small kernels. Launching them one by one takes the host
longer than the GPU needs to run them; a recorded graph launches all of them at once. A recording
fixes every number that Python computed and every address. So a recorded step reads its tokens,
their positions and the places that it writes to from memory of its own, and attention reads all of
the memory there is, of which a mask hides what is not written yet.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WORTH = 8
"""Steps for which a batch must have room before its step is recorded."""
_MAX_DISTANCE = 0.1
"""How far (total variation) the distribution of a next token may be from that of a plain step."""
_CHECKED_STEPS = 2
"""Steps of the first recording that are compared: at the second, a number that Python computed for
the first is no longer right.
"""


@dataclass
class StepGraphs:
    """Whether a model's steps are recorded, and what its recordings share.

    Parameters
    ----------
    usable
        Whether steps are recorded: until a recording fails, or changes what is drawn.
    """

    usable: bool = False
    to_check: int = _CHECKED_STEPS
    """Recorded steps that are still to be compared with plain ones."""
    _last: torch.cuda.CUDAGraph | None = field(default=None, repr=False)
    """The last recording: while it lives, the next one uses its memory."""

    @classmethod
    def for_model(cls, model: PreTrainedModel) -> StepGraphs:
        """For a model whose weights are all on one GPU."""
        devices = {weight.device for weight in model.parameters()}
        return cls(usable=len(devices) == 1 and devices.pop().type == "cuda")

    def record(self, step: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
        """Record a step, and return what runs the recording."""
        graph = torch.cuda.CUDAGraph()
        # CUDA records no work on the default stream.
        stream = torch.cuda.Stream()
        memory = torch.cuda.graph_pool_handle() if self._last is None else self._last.pool()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # a thread beside this one prepares pictures, and may ask for memory
            graph.capture_begin(pool=memory, capture_error_mode="thread_local")
            try:
                scores = step()
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        self._last = graph

        def replay() -> torch.Tensor:
            graph.replay()
            return scores

        return replay

    def agree(self, recorded: torch.Tensor, plain: torch.Tensor) -> bool:
        """Whether two steps predict the same next tokens; if not, no more steps are recorded."""
        self.to_check -= 1
        first, second = (logits.float().softmax(-1) for logits in (recorded, plain))
        if not float((first - second).abs().sum(-1).max()) / 2 < _MAX_DISTANCE:
            self.stop("its scores are others")
        return self.usable

    def forget(self) -> None:
        """Free the memory of recordings."""
        self._last = None

    def stop(self, reason: str) -> None:
        """Record no more steps."""
        self.usable = False
        self.forget()
        logging.getLogger("hqm").info("hqm: a step was not recorded as a CUDA graph: %s", reason)


class RecordedStep:
    """A batch's step, recorded.

    Parameters
    ----------
    step
        Given tokens, their positions, and the places to write to: the scores of the next tokens.
    length
        The places that are taken.
    """

    def __init__(
        self,
        graphs: StepGraphs,
        step: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor],
        tokens: torch.Tensor,
        position: torch.Tensor,
        length: int,
    ) -> None:
        # The recording reads these addresses: new numbers are copied into them.
        self._tokens = tokens.clone()
        self._position = position.clone()
        self._write_positions = torch.arange(length, length + tokens.shape[1], device=tokens.device)
        self._replay = graphs.record(
            lambda: step(self._tokens, self._position, self._write_positions)
        )

    def scores(self, tokens: torch.Tensor, position: torch.Tensor, length: int) -> torch.Tensor:
        """The scores of the next tokens; the next step overwrites them."""
        self._tokens.copy_(tokens)
        self._position.copy_(position)
        torch.arange(length, length + len(self._write_positions), out=self._write_positions)
        return self._replay()
