"""Where results of many runs go: how much memory there is, files that are whole or not there at all, and moments.

Mean, spread and extremes of many runs are had without keeping them, and to the same bits however they come in. Sums of
numbers depend on their order. Here runs i and i + 1, i even, are put together first, then pairs of pairs, and so on: a
binary tree over the runs' indices. What a chunk can put together it does; the rest waits for its other half. So any
chunks in any order give the same result.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dalembert.errors import InputError
from dalembert.files import place_of, replaced
from dalembert.flow import Array

SHARE = 0.8  # of the free memory that a result may take
SMALL = 2**20  # bytes that are always there


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


def size_in_words(size: float) -> str:
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
            size = size_in_words(8 * math.prod(shape))
            full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
            why = f"the disk has no room for {size}" if full else error.strerror
            problem = f"{str(path)!r} cannot be written: {why}"
            raise InputError("not-writable", "path", str(path), problem=problem) from None
        yield array
        array.flush()
        del array


@dataclass(frozen=True)
class Moments:
    """Of so many numbers their mean, Σ(x − mean)², least and largest; entry by entry of arrays."""

    count: Array
    mean: Array
    squares: Array
    least: Array
    largest: Array

    @staticmethod
    def of(x: Array) -> Moments:
        """Of single numbers; what is not finite counts for nothing."""
        good = np.isfinite(x)
        zero = np.zeros_like(x)
        return Moments(
            good.astype(float), np.where(good, x, 0.0), zero, np.where(good, x, np.inf), np.where(good, x, -np.inf)
        )

    def __getitem__(self, k: int | slice) -> Moments:
        return Moments(self.count[k], self.mean[k], self.squares[k], self.least[k], self.largest[k])

    def __or__(self, other: Moments) -> Moments:
        """Of both together (Chan, Golub and LeVeque 1983)."""
        count = self.count + other.count
        share = other.count / np.maximum(count, 1.0)
        apart = np.where((self.count > 0) & (other.count > 0), other.mean - self.mean, 0.0)
        mean = np.where(self.count > 0, self.mean + apart * share, other.mean)
        squares = self.squares + other.squares + apart * apart * (self.count * share)
        return Moments(
            count, mean, squares, np.minimum(self.least, other.least), np.maximum(self.largest, other.largest)
        )

    @property
    def std(self) -> Array:
        """The standard deviation of the sample (n − 1); NaN of fewer than two."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.count > 1, np.sqrt(self.squares / np.maximum(self.count - 1.0, 1.0)), np.nan)


@dataclass
class Tree:
    """Parts by (level, place): 2^level runs from index place · 2^level on."""

    parts: dict[tuple[int, int], Moments] = field(default_factory=dict)

    def add_runs(self, first: int, x: Array) -> None:
        """x (count, …): runs first, first + 1, …"""
        level, here = 0, Moments.of(x)
        while len(here.count):
            count = len(here.count)
            if first % 2:
                self.add(level, first, here[0])
            start = first % 2
            if (count - start) % 2:
                self.add(level, first + count - 1, here[count - 1])
            end = start + (count - start) // 2 * 2
            here = here[start:end:2] | here[start + 1 : end : 2]
            level, first = level + 1, (first + start) // 2

    def add(self, level: int, place: int, part: Moments) -> None:
        while (other := self.parts.pop((level, place ^ 1), None)) is not None:
            part = part | other if place % 2 == 0 else other | part
            level, place = level + 1, place // 2
        self.parts[level, place] = part

    def join(self, other: Tree) -> None:
        for (level, place), part in other.parts.items():
            self.add(level, place, part)

    def total(self) -> Moments:
        """Of all runs, from 0 on: the parts from the first run to the last."""
        ordered = [self.parts[key] for key in sorted(self.parts, key=lambda key: key[1] << key[0])]
        result = ordered[0]
        for part in ordered[1:]:
            result = result | part
        return result
