"""What users import has numpydoc docstrings: ruff's rules, and the sections that it does not ask for."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

import hqm
import hqm.psychometrics

NOT_ASKED = "D102,D105,D107"
"""Methods whose name and types say all, magic methods, and `__init__`, which the class describes."""
OF_DATA = ("Audit", "BenchmarkAudit", "Card", "Policy")
"""Documents whose fields docs/formats.md and docs/extend_benchmark.md describe."""


def exported() -> Iterator[tuple[str, object]]:
    for name in sorted(hqm.EXPORTED):
        yield name, getattr(hqm, name)
    for name in hqm.psychometrics.__all__:
        yield name, getattr(hqm.psychometrics, name)


PUBLIC = {
    name: value
    for name, value in exported()
    if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__.startswith("hqm")
}


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_and_returned_values_have_a_section(name: str) -> None:
    value = PUBLIC[name]
    text = inspect.getdoc(value) or ""
    sections = set(re.findall(r"^([A-Z]\w+)\n-+$", text, re.MULTILINE))
    if inspect.isclass(value):
        if not issubclass(value, Exception) and name not in OF_DATA:
            has_fields = bool(set(inspect.signature(value).parameters) - {"args", "kwargs"})
            assert not has_fields or sections & {"Parameters", "Attributes"}
        return
    signature = inspect.signature(value)
    assert not signature.parameters or "Parameters" in sections
    gives_nothing = signature.return_annotation in (None, "None")
    assert gives_nothing or sections & {"Returns", "Yields"}


def test_docstrings_follow_the_convention_of_numpy() -> None:
    spans: dict[str, list[tuple[int, int, str]]] = {}
    for name, value in PUBLIC.items():
        value = inspect.unwrap(value)  # type: ignore[arg-type]
        lines, start = inspect.getsourcelines(value)
        span = start, start + len(lines), name
        spans.setdefault(inspect.getsourcefile(value) or "", []).append(span)
    convention = 'lint.pydocstyle.convention = "numpy"'
    command = [sys.executable, "-m", "ruff", "check", "--select", "D", "--ignore", NOT_ASKED]
    options = ["--config", convention, "--output-format", "json", *spans]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    violations = []
    for violation in json.loads(done.stdout):
        row = violation["location"]["row"]
        for start, end, name in spans[violation["filename"]]:
            if start <= row < end:
                violations.append(f"{name}, {violation['filename']}:{row}: {violation['code']}")
    assert not violations, "\n".join(violations)
