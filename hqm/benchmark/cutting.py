"""A part of a form, or its first items, as `--part` and `--limit` ask for."""

from __future__ import annotations

from dataclasses import replace

from hqm.benchmark.items import one_part
from hqm.types import Form


def cut(form: Form, benchmark: str, part: str | None, limit: int | None) -> Form:
    """The items of one part, at most so many.

    Raises
    ------
    UsageError
        The benchmark has no such part.
    """
    if part:
        form = one_part(form, part, benchmark)
    return replace(form, items=form.items[:limit])
