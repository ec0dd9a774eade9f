"""The linter behind `hqm check`: stable codes and plain sentences; it goes on after the first
fault.
"""

from __future__ import annotations

from hqm.benchmark.findings import CODES, SEVERITIES, Code, Selection, code_of
from hqm.lint.linter import Checked, findings_of, lint_benchmarks, pictures_of

__all__ = [
    "CODES",
    "SEVERITIES",
    "Checked",
    "Code",
    "Selection",
    "code_of",
    "findings_of",
    "lint_benchmarks",
    "pictures_of",
]
