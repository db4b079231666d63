"""Columns as files: written beside their place, then put there in one step, so that nothing half-written is left."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, MissingExtraError

Array = NDArray[np.float64]
AT_ONCE = 10_000  # rows turned into text at a time


def whole(path: str | os.PathLike[str], write: Callable[[Any], None]) -> None:
    """The file that `write` fills, under a temporary name until it is complete."""
    place = Path(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as file:
            temporary = file.name
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_mask())
        os.replace(temporary, place)
        temporary = None
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{str(place)!r} cannot be written: {why}; nothing of it was left") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _mask() -> int:
    """What this process takes from the permissions of new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, Array]) -> None:
    def write(file: Any) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(columns)
        table = np.stack(list(columns.values()), -1)
        for first in range(0, len(table), AT_ONCE):
            rows.writerows(table[first : first + AT_ONCE].tolist())  # repr of a float keeps every digit
        text.detach()

    whole(path, write)


def write_parquet(path: str | os.PathLike[str], columns: Mapping[str, Array]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow is not installed: pip install 'dalembert[parquet]', or use to_csv") from None
    table = pyarrow.table({name: np.ascontiguousarray(values) for name, values in columns.items()})
    whole(path, lambda file: pyarrow.parquet.write_table(table, file))
