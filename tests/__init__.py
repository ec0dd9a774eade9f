"""The tests of HQM."""

import os

# One thread a process: on busy cores two wait for each other at every operation, and take ten times
# the time together. Here, since NumPy reads it when it is first imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
