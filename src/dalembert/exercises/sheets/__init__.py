"""Sheets of exercises in the forms that people use: paper, pages that grade, notebooks, question banks.

`write_sheet` writes one; FORMATS lists the forms.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dalembert.errors import choose
from dalembert.exercises.sheets.sheet import Sheet as Sheet
from dalembert.files import whole


@dataclass(frozen=True)
class Format:
    """A form of a sheet: the suffix of its file, the module and function that write it, and whether solutions can be
    written to a file of their own. A question bank always holds them."""

    suffix: str
    module: str
    function: str
    apart: bool = False

    @property
    def write(self) -> Callable[..., str | bytes]:
        found: Callable[..., str | bytes] = getattr(import_module(f"{__name__}.{self.module}"), self.function)
        return found


FORMATS = {
    "markdown": Format(".md", "paper", "markdown", apart=True),
    "pdf": Format(".pdf", "paper", "write_pdf", apart=True),
    "html": Format(".html", "page", "write_html", apart=True),
    "notebook": Format(".ipynb", "notebooks", "write_notebook", apart=True),
    "moodle": Format(".xml", "moodle", "write_moodle"),
}
SOLUTIONS = ("apart", "inside", "none", "only")


def write_sheet(sheet: Sheet, path: str | os.PathLike[str], form: str, solutions: str = "apart") -> list[Path]:
    """Write a sheet in one of FORMATS. Its solutions go apart (into FILE-solutions, beside it), inside, nowhere, or
    are all there is (only). Returns the files."""
    chosen, place = FORMATS[choose("format", form, FORMATS)], Path(path)
    choose("place of the solutions", solutions, SOLUTIONS)
    texts = {place: chosen.write(sheet, "none" if solutions == "apart" else solutions)}
    if chosen.apart and solutions == "apart":
        texts[place.with_name(f"{place.stem}-solutions{place.suffix}")] = chosen.write(sheet, "only")
    for file, text in texts.items():
        save(file, text)
    return list(texts)


def save(path: str | os.PathLike[str], text: str | bytes) -> None:
    """Write a file, whole or not at all."""
    data = text.encode() if isinstance(text, str) else text
    whole(path, lambda file: file.write(data))
