"""The notebook of the documentation runs in a kernel of Jupyter, and shows what that gives.

python -m tests.test_notebook writes its outputs again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import nbclient
import nbformat

from tests.conftest import ROOT

if TYPE_CHECKING:
    from nbformat import NotebookNode

NOTEBOOK = ROOT / "docs" / "first_audit.ipynb"


def run_notebook() -> NotebookNode:
    """Return the notebook with the outputs of a run from its first cell to its last."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(NOTEBOOK.parent)}},
        record_timing=False,
    )
    client.execute()
    # the version of Python would make the file another one on every machine
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in code_cells(notebook):
        # bars of progress are shown on machines that take long
        cell.outputs = [output for output in cell.outputs if output.output_type != "display_data"]
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: NotebookNode) -> list[tuple[list[str], str]]:
    """Return the types of each output and its text: what a drawing is, since its bytes depend on
    the machine's fonts.
    """
    shown = []
    for cell in code_cells(notebook):
        for output in cell.outputs:
            data = output.get("data", {"text/plain": output.get("text")})
            shown.append((sorted(data), data["text/plain"]))
    return shown


def test_the_notebook_shows_what_a_kernel_gives() -> None:
    shown = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(shown)
    assert len(outputs(shown)) == len(code_cells(shown)) >= 5
    assert outputs(run_notebook()) == outputs(shown)


if __name__ == "__main__":
    nbformat.write(run_notebook(), NOTEBOOK)
