"""Modules that are executed once something of them is needed.

Half of the time in which torch and transformers are imported goes to what trains, compiles, exports
and spreads a model over machines. A worker only answers. A module that is named here is there when
it is imported, and so are the modules within it; the first attribute that is asked of it executes
it, in its place. What others ask of it while they are imported, to decorate a function or to call
it one day, is answered without it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

_LOCK = threading.RLock()


def _undecorated(function: Any = None, *_: Any, **__: Any) -> Any:
    """The decorated function itself: what it tells the compiler matters where somebody compiles."""
    return (lambda given: given) if function is None else function


def _certain(condition: Any, skip: int = 0) -> Any:
    """`expect_true` of what is known already: only the compiler has conditions that are not."""
    return (
        condition
        if type(condition) is bool
        else _asked(_SYMBOLS, "expect_true")(condition, skip + 1)
    )


def _assigned(*costs: Any, **settings: Any) -> Any:
    """`linear_sum_assignment`, which the losses of object detectors call."""
    return _asked(_OPTIMIZE, "linear_sum_assignment")(*costs, **settings)


_OPTIMIZE, _SYMBOLS = "scipy.optimize", "torch.fx.experimental.symbolic_shapes"
_LATER: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    _OPTIMIZE: {"linear_sum_assignment": _assigned},
    _SYMBOLS: {"expect_true": _certain},
    "torch._dynamo": dict.fromkeys(
        ("disable", "assume_constant_result", "allow_in_graph"), _undecorated
    ),
    "torch.export": {},
    # searches the files of every model for their names, as transformers itself has just done
    "transformers.models": {},
}
"""What of each is answered without it."""
_APART = ("transformers.models.", "torch._dynamo._trace_wrapped_higher_order_op")
"""How the names of modules begin that stand within one of them and do not need it."""


class _Later(ModuleType):
    """Stands for a module until something of it is needed."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        known = _LATER[self.__name__].get(name)
        return _asked(self.__name__, name) if known is None else known


def _execute(module: str) -> None:
    """Execute a module, if it was not."""
    with _LOCK:
        later: Any = sys.modules[module]
        waits = type(later) is _Later
        if waits:
            later.__class__ = _Begun
            try:
                later.__spec__.loader.loader.exec_module(later)
            except BaseException:
                later.__class__ = _Later
                raise
            if sys.modules[module] is later:
                later.__class__ = ModuleType


def _asked(module: str, name: str) -> Any:
    """An attribute of a module, which is executed if it was not."""
    _execute(module)
    return getattr(sys.modules[module], name)


class _Begun(ModuleType):
    """A module that is being executed, for which other threads wait, or that has put another in its
    place.
    """

    def __getattr__(self, name: str) -> Any:
        with _LOCK:
            there = sys.modules.get(self.__name__, self)
        if there is not self:
            return getattr(there, name)
        if name in vars(self):
            return vars(self)[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Later(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing yet."""


class _Loaded(importlib.abc.Loader):
    """Gives a module that was imported while it was looked for."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in _LATER:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader)
            return spec
        within = fullname.rpartition(".")[0]
        if within in _LATER and not fullname.startswith(_APART):
            _execute(within)
            if fullname in sys.modules:
                return importlib.machinery.ModuleSpec(fullname, _Loaded(sys.modules[fullname]))
        return None


def execute_later() -> None:
    """From now on, the modules that are named here are executed once something of them is
    needed.
    """
    sys.meta_path.insert(0, _Finder())
