"""The measures of HallusionBench, as functions of summed tallies.

`official` measures are percentages with four decimals, and their easy and hard accuracies are by
question pair. `paper` measures are not rounded, and easy and hard are by question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hqm import Metric, ratio

Tally = Mapping[str, Any]
SCOPES = (
    "",
    "vd",
    "vs",
    "vd_figure",
    "vd_illusion",
    "vd_math",
    "vd_ocr",
    "vd_video",
    "vs_chart",
    "vs_map",
    "vs_ocr",
    "vs_table",
)
"""All items (the empty name), the two categories, and their subcategories."""


def metrics_of(scoring: str) -> Iterable[Metric]:
    """The metrics of one scoring, named in lower case; aAcc, fAcc and qAcc over all items come
    first.
    """
    official = scoring == "official"
    digits = 4 if official else None
    for scope in SCOPES:
        for metric in _accuracies(scope, "pair" if official else ""):
            yield replace(metric, digits=digits)
    for scope in SCOPES[:3]:
        for metric in _consistency(scope):
            yield replace(metric, digits=digits)
    yes, false_yes = ("yes_inferred", "false_yes_inferred") if official else ("yes", "false_yes")
    yield Metric(
        "yes_diff",
        lambda t: ratio(t[yes], t["n"]) - ratio(t["yes_true"], t["n"]),
        "neither",
        about="Share of answers yes less the share of questions whose answer is yes.",
    )
    yield Metric(
        "fp_ratio",
        lambda t: ratio(t[false_yes], t["wrong"]),
        "neither",
        about="Of the wrong answers, the share that said yes.",
    )
    yield Metric(
        "unclear",
        _percent("unclear", "n"),
        "neither",
        about="Percentage of unclear answers.",
        digits=digits,
    )


def _percent(top: str | Callable[[Tally], Any], bottom: str) -> Callable[[Tally], Any]:
    return lambda t: ratio(100 * np.asarray(top(t) if callable(top) else t[top]), t[bottom])


def _accuracies(scope: str, by_pair: str) -> Iterable[Metric]:
    right = _percent("right", "n")
    dot, bar, of = (f"{scope}.", f"{scope}_", f" of {scope}") if scope else ("", "", "")
    yield Metric(
        f"{dot}aacc", right, subset=scope, about=f"Percentage of questions{of} answered right."
    )
    yield Metric(
        f"{dot}facc",
        right,
        subset=scope,
        about=f"Percentage of figures{of} with every question right.",
        group="figure",
    )
    yield Metric(
        f"{dot}qacc",
        right,
        subset=scope,
        about=f"Percentage of question pairs{of} right for every figure.",
        group="pair",
    )
    for level, figures in (("easy", "original"), ("hard", "edited")):
        what = "question pairs" if by_pair else "questions"
        yield Metric(
            f"{dot}{level}_aacc",
            right,
            subset=f"{bar}{level}",
            about=f"Percentage of {what}{of} about {figures} figures answered right.",
            group=by_pair,
        )


def _consistency(scope: str) -> tuple[Metric, ...]:
    """The metrics of whole figures, and the causes to which errors are attributed."""
    dot = f"{scope}." if scope else ""
    return (
        Metric(
            f"{dot}figures_inconsistent",
            of=_percent(lambda t: t["n"] - t["right"] - t["wrong"], "n"),
            better="lower",
            subset=scope,
            about="Percentage of figures with some questions right and some wrong.",
            group="figure",
        ),
        Metric(
            f"{dot}figures_wrong",
            _percent("wrong", "n"),
            "lower",
            scope,
            about="Percentage of figures with every question wrong.",
            group="figure",
        ),
        Metric(
            f"{dot}figure_score",
            lambda t: ratio(t["figure_share"], t["figures"]),
            subset=scope,
            about="Mean over figures of the share of their questions answered right.",
        ),
        *(
            Metric(
                f"{dot}{name}",
                _percent(name, "diagnosed"),
                "neither",
                scope,
                about=f"Percentage of the diagnosed errors put down to {cause}.",
            )
            for name, cause in (
                ("lh", "language hallucination"),
                ("vi", "visual illusion"),
                ("mixed", "either of the two"),
            )
        ),
    )
