"""The notebook of the documentation runs, and prints what it shows.

python -m tests.test_notebook writes its outputs again.
"""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest

from tests.conftest import ROOT

NOTEBOOK = ROOT / "docs" / "first_audit.ipynb"


def run_cells(notebook: dict[str, Any]) -> list[str]:
    """Run the cells with code, as one program, and return what each printed."""
    namespace: dict[str, Any] = {}
    printed = []
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), namespace)
        printed.append(stream.getvalue())
    return printed


def test_the_notebook_prints_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = ["".join(cell["outputs"][0]["text"]) for cell in cells]
    assert len(shown) >= 5
    assert run_cells(notebook) == shown
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


if __name__ == "__main__":
    document = json.loads(NOTEBOOK.read_text("utf-8"))
    outputs = iter(run_cells(document))
    for code_cell in document["cells"]:
        if code_cell["cell_type"] == "code":
            text = next(outputs).splitlines(keepends=True)
            stream_output = {"name": "stdout", "output_type": "stream", "text": text}
            code_cell["outputs"] = [stream_output] if text else []
    NOTEBOOK.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
