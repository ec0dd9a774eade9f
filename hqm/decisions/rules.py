"""When to stop asking, as `--until` says it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hqm.errors import UsageError

_RULE = re.compile(
    r"(?P<what>separated|half_width)(?:\((?P<metric>[\w.-]+)\))?(?:(?P<sign>>=|<=)(?P<number>[0-9.eE-]+))?"
)
_REMEDY = (
    'Write "separated", "separated>=.02" (the smallest difference that matters) or'
    ' "half_width<=.01".'
)


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """What must be known before a respondent is asked no more.

    - `separated`: Every pair with it is told apart, or known to differ by less than this; None
      where that is not asked.
    - `half_width`: Half of the interval for its score is this short; None where that is not asked.
    - `metric`: The metric that the rule is about; the leading one that is a mean of item scores
      unless given.

    >>> rule = StoppingRule.parse(["separated>=.02", "half_width(accuracy)<=.01"])
    >>> rule
    StoppingRule(separated=0.02, half_width=0.01, metric='accuracy', level=0.95)
    >>> str(rule)
    'separated>=0.02+half_width<=0.01'
    """

    separated: float | None = None
    half_width: float | None = None
    metric: str = ""
    level: float = 0.95

    @classmethod
    def parse(cls, texts: Sequence[str]) -> StoppingRule:
        """Read the texts of `--until`.

        Raises
        ------
        UsageError
            A text is no rule, a rule is given twice, or the rules are about different metrics.
        """
        given: dict[str, float] = {}
        metrics: dict[str, None] = {}
        for text in texts:
            match = _RULE.fullmatch(re.sub(r"\s", "", text))
            if match is None:
                raise UsageError(f"--until {text!r} is no rule", remedy=_REMEDY)
            if match["what"] in given:
                raise UsageError(
                    f"--until says {match['what']} twice", remedy="Give each rule once."
                )
            given[match["what"]] = _number(match, text)
            if match["metric"]:
                metrics[match["metric"]] = None
        if len(metrics) > 1:
            raise UsageError(f"--until is about {' and '.join(metrics)}", remedy="Name one metric.")
        return cls(given.get("separated"), given.get("half_width"), next(iter(metrics), ""))

    def __str__(self) -> str:
        parts = []
        if self.separated is not None:
            parts.append(f"separated>={self.separated:g}" if self.separated else "separated")
        if self.half_width is not None:
            parts.append(f"half_width<={self.half_width:g}")
        return "+".join(parts)


def _number(match: re.Match[str], text: str) -> float:
    """The number of a rule: the smallest difference, or the half width."""
    wanted = ">=" if match["what"] == "separated" else "<="
    if match["sign"] is None and match["what"] == "separated":
        return 0.0
    try:
        value = float(match["number"]) if match["sign"] == wanted else -1.0
    except (TypeError, ValueError):
        value = -1.0
    if not 0 < value < 1:
        raise UsageError(
            f"--until {text!r} is no rule", remedy=f"{_REMEDY} The number lies between 0 and 1."
        )
    return value
