"""Coefficients of a published table as signed estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hqm.auditing.printed import Published
from hqm.psychometrics import Coefficient
from hqm.signature import sign
from hqm.types import Estimate, Interval
from hqm.version import __version__


@dataclass(frozen=True)
class Maker:
    """Turns coefficients into signed estimates about a table."""

    table: Published

    def __call__(
        self,
        indicator: str,
        metric: str,
        coefficient: Coefficient,
        first: str = "",
        other: str = "",
        flags: Sequence[str] = (),
        items: int | None = None,
        **detail: Any,
    ) -> Estimate:
        spans: tuple[Interval, ...] = ()
        low, high, method = coefficient.low, coefficient.high, coefficient.method
        if math.isfinite(low):
            spans = (Interval(low, high, "model_population", method, coefficient.level),)
        n = coefficient.n or len(self.table.respondents)
        few = ("FEW_MODELS",) if spans and n < 20 else ()
        signature = sign(
            {
                "table": self.table.name,
                "data": self.table.digest,
                "metric": metric,
                "first": first,
                "other": other,
                "respondents": n,
                "items": items or "unknown",
                "statistic": indicator,
                "interval": method.replace(" ", "_") or "none",
                "hqm": __version__,
            }
        )
        return Estimate(
            indicator,
            metric,
            "",
            first,
            other,
            coefficient.value if math.isfinite(coefficient.value) else None,
            coefficient.status,
            coefficient.reason,
            spans,
            n,
            items or 0,
            0,
            (*flags, *few),
            signature,
            detail,
        )
