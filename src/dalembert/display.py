"""What notebooks and terminals show of a result: tables, marks, formulas; and results as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table as lines, columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]


class VerdictMark(str):
    """A verdict, and the color that it is shown in: "good", "doubt", "bad" or "absent"."""

    kind: str

    def __new__(cls, text: str, kind: str) -> VerdictMark:
        made = super().__new__(cls, text)
        made.kind = kind
        return made


class MathText(str):
    """A formula as text, and as LaTeX where a page shows it."""

    latex: str

    def __new__(cls, text: str, latex: str) -> MathText:
        made = super().__new__(cls, text)
        made.latex = latex
        return made


@dataclass(frozen=True, repr=False)
class ResultTable:
    """A table: its title, its columns, and rows of numbers and text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def __str__(self) -> str:
        cells = [[_shown(x) for x in row] for row in self.rows]
        return "\n".join([self.title, *(align([self.columns, *cells]) if cells else ())])

    def __repr__(self) -> str:
        return f"<ResultTable of {len(self.rows)} rows: {', '.join(self.columns)}>"

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame."""
        from dalembert.lazy import library

        return library("pandas").DataFrame(list(self.rows), columns=list(self.columns))


def _shown(cell: object) -> str:
    return "–" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def print_table(made: ResultTable) -> ResultTable:
    """Print a table, and return it, as `table()` of every result does."""
    print(made)
    return made


def plain(value: object) -> object:
    """Return what JSON can hold: dataclasses and mappings as dicts, arrays as lists, numbers that are not finite as
    None. Fields whose names begin with an underscore are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        named = ((f.name, getattr(value, f.name)) for f in fields(value) if not f.name.startswith("_"))
        return {name: plain(x) for name, x in named}
    if isinstance(value, Mapping):
        return {str(key): plain(x) for key, x in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(x) for x in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int, str, type(None))) else str(value)


class Displayed:
    """A result that Jupyter, Colab, VS Code and marimo show as `dalembert.notebook` draws it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        import dalembert  # the front door: what draws a result stands above it

        return dalembert.notebook.html_of(self)
