"""Columns as files: CSV and Parquet, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import MissingExtraError
from dalembert.files import whole, whole_table

Array = NDArray[np.float64]
AT_ONCE = 10_000  # rows turned into text at a time


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, Array]) -> None:
    table = np.stack(list(columns.values()), -1)
    pieces = (table[first : first + AT_ONCE].tolist() for first in range(0, len(table), AT_ONCE))
    whole_table(path, columns, (row for piece in pieces for row in piece))


def arrow() -> Any:
    """pyarrow with its Parquet files, or what would add it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow is not installed: pip install 'dalembert[parquet]', or use to_csv") from None
    return pyarrow


def write_parquet(path: str | os.PathLike[str], columns: Mapping[str, Array]) -> None:
    pyarrow = arrow()
    table = pyarrow.table({name: np.ascontiguousarray(values) for name, values in columns.items()})
    whole(path, lambda file: pyarrow.parquet.write_table(table, file))
