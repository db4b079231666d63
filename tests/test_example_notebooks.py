"""The notebooks of the examples: those of the pages as they are now, and each runs from its first cell to its last."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("make_notebooks", ROOT / "docs" / "make_notebooks.py")
assert SPEC is not None and SPEC.loader is not None
MAKER = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKER)
PAGES = MAKER.pages()


def test_the_notebooks_are_those_of_the_pages():
    assert len(PAGES) >= 6
    for page in PAGES:
        made = page.with_suffix(".ipynb").read_text(encoding="utf-8")
        assert made == MAKER.notebook(page), f"{page.stem} is behind its page: python docs/make_notebooks.py"


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_runs(page, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: notebooks are not run")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: notebooks are not run")
    notebook = nbformat.reads(MAKER.notebook(page), as_version=4)
    nbformat.validate(notebook)
    run = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    run.execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
