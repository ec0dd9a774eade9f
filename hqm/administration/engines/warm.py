"""What worker processes import before they are given anything to do.

On Linux, workers are forked from one server process that has imported this module: what takes most of their start is done once,
and while the driver still plans what to ask. It is imported nowhere else.
"""

from __future__ import annotations

import signal

# Ctrl-C reaches every process of a terminal, and only the driver decides what it means; imports take seconds
signal.signal(signal.SIGINT, signal.SIG_IGN)

import importlib  # noqa: E402
import os  # noqa: E402
from contextlib import suppress  # noqa: E402

# as in the driver, whose environment says so too: several threads on small products wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

MODULES = (
    "hqm.administration.engines.local",
    "hqm.respondents.transformers",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.processing_auto",
    "transformers.modeling_utils",
    "transformers.processing_utils",
)
for name in MODULES:
    with suppress(Exception):  # whatever it is, a worker meets it again, and says it
        importlib.import_module(name)
