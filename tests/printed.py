"""The numbers that papers print, as the ledger of the documentation holds them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent


def load_script(path: str) -> ModuleType:
    """Return a script of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / "docs" / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks for its module
    spec.loader.exec_module(module)
    return module


def printed_rows(paper: str, name: str) -> Sequence[Sequence[float]]:
    """Return the numbers of each row of a table of the ledger, the last one that it prints."""
    table = load_script("ledger.py").printed_table(paper, name)
    return [row[1:] for row in table.rows]
