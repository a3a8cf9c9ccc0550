"""The notebook runs from top to bottom and is stored without output."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

from tests.docs.pages import DOCS

NOTEBOOK = DOCS / "tutorial" / "notebook.ipynb"


def test_it_runs_and_prints_something_in_every_cell() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 8
    assert all(cell.outputs for cell in code)
    images = [output for cell in code for output in cell.outputs if "image/png" in output.get("data", {})]
    assert len(images) == 2


def test_outputs_are_not_committed() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if "outputs" in cell)
