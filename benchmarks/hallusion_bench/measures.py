"""The measures of HallusionBench, as functions of summed tallies.

`official` measures are percentages rounded to four decimals, as the release prints them, with the easy and hard accuracies
by question pair; `paper` measures are not rounded, with easy and hard by question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from hqm import Metric, ratio

Tally = Mapping[str, Any]
SCOPES = (
    "", "VD", "VS", "VD_figure", "VD_illusion", "VD_math", "VD_ocr", "VD_video", "VS_chart", "VS_map", "VS_ocr", "VS_table",
)  # fmt: skip
"""Everything, the two categories, and their subcategories."""


def _rounded(values: Any) -> Any:
    """Python's own rounding to four decimals, element by element."""
    return np.vectorize(lambda v: round(float(v), 4) if np.isfinite(v) else v, otypes=[float])(values)


def measures(scoring: str) -> Iterable[Metric]:
    """Every metric of one scoring; aAcc, fAcc and qAcc of everything come first."""
    rounding = _rounded if scoring == "official" else np.asarray
    by_pair = "pair" if scoring == "official" else ""

    def percent(top: str | Callable[[Tally], Any], bottom: str) -> Callable[[Tally], Any]:
        return lambda t: rounding(ratio(100 * np.asarray(top(t) if callable(top) else t[top]), t[bottom]))

    right = percent("right", "n")
    for scope in SCOPES:
        dot, bar, of = (f"{scope}.", f"{scope}_", f" of {scope}") if scope else ("", "", "")
        yield Metric(f"{dot}aAcc", right, subset=scope, about=f"Percentage of questions{of} answered right.")
        about = f"Percentage of figures{of} with every question right."
        yield Metric(f"{dot}fAcc", right, subset=scope, about=about, group="figure")
        about = f"Percentage of question pairs{of} right for every figure."
        yield Metric(f"{dot}qAcc", right, subset=scope, about=about, group="pair")
        for level, figures in (("easy", "original"), ("hard", "edited")):
            what = "question pairs" if by_pair else "questions"
            about = f"Percentage of {what}{of} about {figures} figures answered right."
            yield Metric(f"{dot}{level}_aAcc", right, subset=f"{bar}{level}", about=about, group=by_pair)
    for scope in SCOPES[:3]:
        dot = f"{scope}." if scope else ""
        torn = percent(lambda t: t["n"] - t["right"] - t["wrong"], "n")
        about = "Percentage of figures with some questions right and some wrong."
        yield Metric(f"{dot}figures_inconsistent", torn, "lower", scope, about=about, group="figure")
        about = "Percentage of figures with every question wrong."
        yield Metric(f"{dot}figures_wrong", percent("wrong", "n"), "lower", scope, about=about, group="figure")
        about = "Mean over figures of the share of their questions answered right."
        yield Metric(
            f"{dot}figure_score", lambda t: rounding(ratio(t["figure_share"], t["figures"])), subset=scope, about=about
        )
        for name, cause in (
            ("LH", "language hallucination"),
            ("VI", "visual illusion"),
            ("Mixed", "either of the two"),
        ):
            about = f"Percentage of the diagnosed errors put down to {cause}."
            yield Metric(f"{dot}{name}", percent(name, "diagnosed"), "neither", scope, about=about)
    said, false_yes = ("yes_inferred", "false_yes_inferred") if scoring == "official" else ("yes", "false_yes")
    yield Metric(
        "yes_diff",
        lambda t: ratio(t[said], t["n"]) - ratio(t["yes_true"], t["n"]),
        "neither",
        about="Share of answers yes less the share of questions whose answer is yes.",
    )
    about = "Of the wrong answers, the share that said yes."
    yield Metric("fp_ratio", lambda t: ratio(t[false_yes], t["wrong"]), "neither", about=about)
    yield Metric("unclear", percent("unclear", "n"), "neither", about="Percentage of unclear answers.")
