"""Mean, spread and extremes of many runs, without keeping them, and to the same bits however they come in.

Sums of numbers depend on their order. Here runs i and i + 1, i even, are put together first, then pairs of pairs, and
so on: a binary tree over the runs' indices. What a chunk can put together it does; the rest waits for its other half.
So any chunks in any order give the same result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
