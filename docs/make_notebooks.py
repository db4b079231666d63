"""Notebooks of the examples: docs/examples/*.md as .ipynb, prose and code cell by cell, outputs left out.

    python docs/make_notebooks.py [FOLDER]

They are written beside the pages, or into FOLDER. The pages are the source: `tests/test_example_notebooks.py` says
where a notebook is behind its page, and runs each as a reader would.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent / "examples"
FENCE = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^```text output\n.*?^```\n", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")
FIRST = "%pip install -q 'dalembert[lagrange,plot,opt,traj,control,notebook]'  # where it is not installed yet"


def cell(kind: str, number: int, source: str) -> dict[str, object]:
    made: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    made["source"] = source.strip("\n").splitlines(keepends=True)
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def notebook(page: Path) -> str:
    """A page as a notebook, as JSON. Links within the site are words there."""
    text = OUTPUT.sub("", page.read_text(encoding="utf-8"))
    pieces = FENCE.split(text)  # prose, code, prose, …
    cells = [cell("code", 0, "# " + FIRST)]
    for k, piece in enumerate(pieces):
        if piece.strip():
            kind, source = ("code", piece) if k % 2 else ("markdown", LINK.sub(r"\1", piece))
            cells.append(cell(kind, len(cells), source))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def pages() -> list[Path]:
    return [page for page in sorted(EXAMPLES.glob("*.md")) if page.name != "index.md"]


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES
    for page in pages():
        (folder / f"{page.stem}.ipynb").write_text(notebook(page), encoding="utf-8")
        print(folder / f"{page.stem}.ipynb")
