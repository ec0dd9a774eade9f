"""What precision costs over all facets of a study: the figure that leads to `hqm design`."""

from __future__ import annotations

import math

import numpy as np
from hqm.reports.drawings import curves

from hqm import BenchmarkAudit, parts_in
from hqm.psychometrics import StudyParts, StudySize, forecast

_POINTS = 12
_SPAN = 8
"""From an eighth of the audit's pictures to eight times as many."""


def study_curve(audit: BenchmarkAudit, metric: str) -> str:
    """The smallest difference found with 80 % power against the answers that it takes, for several
    mixes of runs, wordings, items.

    Empty where the audit has not measured the components, or has only one mix to show.
    """
    if metric not in audit.components:
        return ""
    parts, _ = parts_in(audit.components[metric])
    mixes = _mixes(parts)
    if parts.status != "ok" or len(mixes) < 2:
        return ""
    lines = {name: _line(parts, *mix) for name, mix in mixes.items()}
    audited = next(reversed(mixes.values()))
    here = _line(parts, *audited, pictures=np.array([float(parts.pictures)]))[0]
    return curves(
        lines,
        "answers per respondent",
        f"smallest difference in {metric}",
        top=None,
        marked=[(*here, "as audited")],
    )


def _mixes(parts: StudyParts) -> dict[str, tuple[float, int, int]]:
    """What a line is called, and its items a picture, wordings and runs; the audit's own mix is the
    last.
    """
    several, worded, repeated = parts.per_picture > 1, parts.forms > 1, parts.runs > 1
    mixes: dict[str, tuple[float, int, int]] = {}
    if several:
        mixes["more pictures of one item each, one run, one wording"] = (1.0, 1, 1)
    mixes["more pictures, one run, one wording"] = (parts.per_picture, 1, 1)
    if worded:
        mixes[f"more pictures, one run, {parts.forms} wordings"] = (
            parts.per_picture,
            parts.forms,
            1,
        )
    if repeated:
        wordings = f"{parts.forms} wordings" if worded else "one wording"
        mixes[f"more pictures, {parts.runs} runs, {wordings}"] = (
            parts.per_picture,
            parts.forms,
            parts.runs,
        )
    return mixes


def _line(
    parts: StudyParts, items: float, forms: int, runs: int, *, pictures: np.ndarray | None = None
) -> list[tuple[float, float]]:
    if pictures is None:
        # all mixes over one range of costs
        least, most = parts.items / _SPAN, parts.items * _SPAN
        pictures = np.geomspace(max(least, 10 * items), most, _POINTS) / items
    values = forecast(
        parts, "mdd", StudySize(pictures=pictures, items=items, forms=forms, runs=runs)
    )
    answers = pictures * items * forms * runs
    return [
        (float(x), float(y))
        for x, y in zip(answers, values, strict=True)
        if math.isfinite(float(y))
    ]
