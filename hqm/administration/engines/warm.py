"""Imports of worker processes.

On Linux, workers are forked from one server process that has imported this module, so that the slow
imports are done once, while the driver still plans the requests. It is imported nowhere else.
"""

from __future__ import annotations

import signal

# Ctrl-C reaches every process of a terminal, and only the driver decides what it means; imports
# take seconds
signal.signal(signal.SIGINT, signal.SIG_IGN)

import atexit  # noqa: E402
import gc  # noqa: E402
import importlib  # noqa: E402
import os  # noqa: E402
from contextlib import suppress  # noqa: E402
from types import FrameType  # noqa: E402

_DRIVER = os.getppid()
_MODULES = (
    "hqm.administration.engines.local",
    "hqm.respondents.hf",
    "hqm.respondents.decoding",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.processing_auto",
    "transformers.modeling_utils",
    "transformers.processing_utils",
)


def _end_with_driver(_number: int, _frame: FrameType | None) -> None:
    """End in the middle of an import where the driver has ended: its output is open for as long as
    this process lives.
    """
    if os.getppid() != _DRIVER:
        os._exit(1)


gc.disable()  # collecting garbage while importing is a quarter of the time, and finds nothing
_BEFORE = signal.signal(signal.SIGALRM, _end_with_driver)
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
with suppress(Exception):  # a worker meets the same error again, and reports it
    # a worker is alone: transformers leaves out what spreads a model over several, as where torch
    # is built without
    vars(importlib.import_module("torch.distributed"))["is_available"] = lambda: False
for _name in _MODULES:
    with suppress(Exception):
        importlib.import_module(_name)
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, _BEFORE)
gc.freeze()
gc.enable()
# what is still frozen at the end of the process counts as lost: triton's bindings would say so in
# a hundred lines
atexit.register(gc.unfreeze)
