"""Where large results go: how much memory there is, and files that are whole or not there at all."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.files import place_of, replaced

Array = NDArray[np.float64]
SHARE = 0.8  # of the free memory that a result may take


def free_memory() -> int | None:
    """Bytes that can still be had, None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def written(size: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"


@contextmanager
def new_file(file: str | Path, shape: tuple[int, ...]) -> Iterator[Array]:
    """An array of doubles in a new .npy, mapped into memory. Its space is taken before anything is computed, and it
    gets its name when it is whole; if that fails, nothing is left."""
    path = Path(file)
    if path.suffix != ".npy":
        raise InputError(f"file must be a .npy, got {str(file)!r}")
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} of file does not exist")
    place = place_of(path)
    if place.exists() and not place.is_file():
        raise InputError(f"file {str(file)!r} is there and no regular file: an array cannot be mapped into it")
    with replaced(place) as part:
        try:
            array = np.lib.format.open_memmap(part, "w+", np.float64, shape)
            if hasattr(os, "posix_fallocate"):  # a hole in the file would end the process when the disk is full
                with open(part, "r+b") as opened:
                    os.posix_fallocate(opened.fileno(), 0, os.path.getsize(part))
        except OSError as error:
            size = written(8 * math.prod(shape))
            full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
            why = f"the disk has no room for {size}" if full else error.strerror
            raise InputError(f"{str(path)!r} cannot be written: {why}") from None
        yield array
        array.flush()
        del array
