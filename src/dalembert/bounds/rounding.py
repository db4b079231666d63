"""How far a computed number may lie from the true one, known before anything is computed.

`Rounded` is a scalar: a bound on the true value and one on its error. Replayed on it, a program of sums, products,
sines and cosines tells the largest error of each of its results over a whole range of arguments, by the standard model
of floating-point arithmetic, fl(a ∘ b) = (a ∘ b)(1 + δ), |δ| ≤ u (Higham 2002, §2.2). A fused multiply–add rounds once
where a product and a sum round twice, so that the two stand for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert import scalar
from dalembert.compile.interpret import replay
from dalembert.compile.lower import Program
from dalembert.scalar import Scalar

UNIT = 2.0**-53  # half a unit in the last place of 1
TRIGONOMETRIC = 4 * UNIT  # sin and cos are within two units in the last place: tests/compile/test_trigonometry.py
UNDERFLOW = 1e-300  # what a product may lose below the smallest normal number, generously
SAFE = 1.01  # the bounds are sums of positive numbers: their own rounding is far below a hundredth


@dataclass(frozen=True)
class Rounded:
    """|true value| ≤ size, |computed − true| ≤ error."""

    size: float
    error: float = 0.0

    def __add__(self, other: Scalar) -> Rounded:
        other = _rounded(other)
        size, error = self.size + other.size, self.error + other.error
        return Rounded(size, error + UNIT * (size + error))

    __radd__ = __add__
    __sub__ = __add__
    __rsub__ = __add__

    def __mul__(self, other: Scalar) -> Rounded:
        other = _rounded(other)
        size = self.size * other.size
        error = self.size * other.error + other.size * self.error + self.error * other.error
        return Rounded(size, error + UNIT * (size + error) + UNDERFLOW)

    __rmul__ = __mul__

    def __neg__(self) -> Rounded:
        return self

    def circular(self) -> Rounded:
        """sin or cos of it."""
        return Rounded(1.0, min(self.error, 2.0) + TRIGONOMETRIC)


scalar.sin.register(Rounded)(Rounded.circular)
scalar.cos.register(Rounded)(Rounded.circular)


def _rounded(x: Scalar) -> Rounded:
    return x if isinstance(x, Rounded) else Rounded(abs(float(x)))


def errors(program: Program, arguments: Sequence[Sequence[Rounded]]) -> list[NDArray[np.float64]]:
    """The largest error of every result, for all arguments within the given bounds."""
    results = replay(program, arguments)
    return [SAFE * np.array([_rounded(x).error for x in group]) for group in results]
