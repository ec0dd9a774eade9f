"""The fixtures of HQM's tests, for those of the extensions."""

from tests.conftest import (
    browser,
    data,
    dogs,
    forked_program,
    make_benchmark,
    one_browser,
    run,
    store,
    threads,
)

__all__ = [
    "browser",
    "data",
    "dogs",
    "forked_program",
    "make_benchmark",
    "one_browser",
    "run",
    "store",
    "threads",
]
