"""Every indicator that the modules of this package list, by family and by name; nothing is written
twice.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Mapping
from functools import lru_cache

from hqm.indicators.indicator import INDICATOR_FAMILIES, Indicator


@lru_cache(maxsize=1)
def all_indicators() -> tuple[Indicator, ...]:
    """What the modules of `hqm.indicators` list under `indicators`, by the modules' names: in this
    order audits have them.
    """
    package = sys.modules[__name__.rpartition(".")[0]]
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = (importlib.import_module(f"{package.__name__}.{name}") for name in names)
    return tuple(indicator for module in modules for indicator in getattr(module, "indicators", ()))


@lru_cache(maxsize=64)
def indicators_of(family: str) -> tuple[Indicator, ...]:
    """The indicators of one family, in the order of an audit."""
    return tuple(
        indicator
        for indicator in all_indicators()
        if family in (own.name for own in indicator.family)
    )


def indicator_named(name: str) -> Indicator | None:
    """The indicator of a name with its family (`test_retest.pearson`) or without (`pearson`), where
    there is one.
    """
    family, _, statistic = name.rpartition(".")
    listed = indicators_of(family) if family else all_indicators()
    return next((indicator for indicator in listed if indicator.name == statistic), None)


def is_on_page(estimate: str) -> bool:
    """Whether reports show an estimate of this name (`Indicator.on_page`)."""
    indicator = indicator_named(estimate)
    return indicator is None or indicator.on_page


def statistics() -> Mapping[str, Indicator]:
    """Name -> indicator, every name once, by families as reports show them."""
    places = {name: position for position, name in enumerate(INDICATOR_FAMILIES)}
    listed = sorted(
        all_indicators(), key=lambda indicator: places.get(indicator.family[0].name, len(places))
    )
    names: dict[str, Indicator] = {}
    for indicator in listed:
        names.setdefault(indicator.name, indicator)
    return names


INDICATORS: Mapping[str, str] = {
    name: indicator.meaning for name, indicator in statistics().items()
}
"""Name -> meaning."""
