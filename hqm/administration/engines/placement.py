"""The models of a run: their weights, their copies and the GPUs of each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hqm.respondents.base import Respondent
from hqm.respondents.hf_loading import weights_of

GIB = 1 << 30
_PARALLEL = re.compile(r"tensor.parallel.size=(\d+)")
"""The number of GPUs in the name of a respondent of vLLM."""


@dataclass(frozen=True, slots=True)
class Model:
    """The resources that an actor with this model needs."""

    name: str
    weights: float
    """Bytes on a GPU: in half precision, unless another format was requested."""
    cpus: float = 1
    gpus: float | None = None
    """The GPUs; None if they follow from the weights."""
    assumed: bool = False
    """Whether the weights are assumed, because their files are not here."""

    @classmethod
    def from_respondent(
        cls, respondent: Respondent, cpus: float = 1, gpus: float | None = None
    ) -> Model:
        """The model of a movable respondent, whose name may hold its GPUs (vLLM)."""
        path = getattr(respondent, "path", "") or getattr(respondent, "model_path", "")
        size = weights_of(str(path), respondent.name)
        dtype = getattr(respondent, "dtype_wanted", getattr(respondent, "dtype", "auto"))
        weights = size.parameters * (4 if dtype == "float32" else 2)
        parallel_size = _PARALLEL.search(respondent.name)
        gpus = float(parallel_size[1]) if parallel_size else gpus
        return cls(respondent.name, weights, cpus, gpus, size.assumed)


@dataclass(frozen=True, slots=True)
class Layout:
    """The copies of one model in a run, and their GPUs."""

    model: Model
    engines: int
    """The number of copies that answer at the same time; 0 while they wait for others to finish."""
    gpus: float
    """The GPUs of each copy."""
    misfit: str = ""
    """Why it fits nowhere."""

    def __str__(self) -> str:
        size = f"weights {self.model.weights / GIB:.1f} GiB{'?' * self.model.assumed}"
        if not self.engines:
            return f"waits until others have finished; {size}"
        device = f"{self.gpus:.3g} GPU{'s' * (self.gpus > 1)}" if self.gpus else "the CPU"
        copies = "1 engine" if self.engines == 1 else f"{self.engines} engines, each"
        return f"{copies} on {device}; {size}"
