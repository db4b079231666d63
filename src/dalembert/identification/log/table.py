"""`Table`: named columns of numbers, before anyone knows what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def first_line(error: Exception) -> str:
    """What another library says of a file, in a line; its kind if it says nothing."""
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns (rows, columns) under their names ("0", "1", … if the file has none: `named` is False), the file's line
    of each row if it has lines, and what was noticed while reading, in sentences."""

    names: tuple[str, ...]
    values: Array
    source: str
    named: bool = True
    lines: Integers | None = None
    notes: tuple[str, ...] = field(default=())
    units: Mapping[str, str] = field(default_factory=dict)

    def place(self, row: int, column: str | None = None) -> str:
        """Where a row stands, for people: "log.csv, line 57, column 'q3'"."""
        where = f"line {self.lines[row]}" if self.lines is not None else f"row {row} (from 0)"
        return f"{self.source}, {where}" + (f", column {column!r}" if column is not None else "")
