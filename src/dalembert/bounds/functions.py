"""What is bounded, as functions of the positions of single joints: a table of names and algorithms.

A mimic joint is a joint here, not a share of a coordinate: in each joint's own position these functions are
trigonometric polynomials, whatever the factor by which it follows another.

The box of joint positions that a bound is proved over, and the functions of one joint that everything is made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import composite, derivatives, newton_euler
from dalembert.arguments import Array
from dalembert.model import Model
from dalembert.model.model import Coordinate
from dalembert.scalar import Scalar

FRACTION = 1000  # largest denominator of a rate at which followers turn, to have a period
CIRCLE = np.nextafter(np.pi, 4)  # a little more than half a turn, so that nothing is left out
Scalars = Sequence[Scalar]
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Box:
    """lower ≤ q ≤ upper, (n,); `sliding` says which joints are prismatic. A slide without limits stays infinite."""

    lower: Array
    upper: Array
    sliding: NDArray[np.bool_]

    @staticmethod
    def of(model: Model, lower: Array | None = None, upper: Array | None = None) -> Box:
        """The limits of a model's joints, or the given ones. A coordinate that only turns joints, all of which are back
        after a period (2π, or more where followers turn at other rates), goes through one period at most."""
        sliding = np.array([not c.joint.turns for c in model.coordinates], bool)
        low = np.array([c.lower for c in model.coordinates]) if lower is None else np.array(lower, float)
        high = np.array([c.upper for c in model.coordinates]) if upper is None else np.array(upper, float)
        half = np.array([_half_period(model, i) for i in range(model.n)])
        whole = np.isfinite(half) & ~(high - low < 2 * half)
        return Box(np.where(whole, -half, low), np.where(whole, half, high), sliding)

    @property
    def n(self) -> int:
        return len(self.lower)

    @property
    def middle(self) -> Array:
        """(n,): a point inside, 0 where a slide has no limits."""
        finite = np.isfinite(self.lower) & np.isfinite(self.upper)
        return np.where(finite, 0.5 * (np.where(finite, self.lower, 0.0) + np.where(finite, self.upper, 0.0)), 0.0)

    @property
    def radius(self) -> Array:
        """(n,): middle ± radius covers the box, rounding included."""
        m = self.middle
        r = np.maximum(self.upper - m, m - self.lower)
        return r + 1e-15 * (np.abs(m) + r)

    @property
    def reach(self) -> Array:
        """(n,): the largest |q|, on the grid of `nodes` too."""
        return np.where(self.sliding, np.abs(self.middle) + self.radius, 2 * np.pi + np.abs(self.middle) + self.radius)

    def finite(self, i: int) -> bool:
        return bool(np.isfinite(self.radius[i]))

    def within(self, reach: float) -> Box:
        """The same with ends that are not infinite: as far as `reach` from the other end, or from nought."""
        a, b = self.lower, self.upper
        low = np.where(np.isfinite(a), a, np.where(np.isfinite(b), b - reach, -reach))
        return Box(low, np.where(np.isfinite(b), b, np.where(np.isfinite(a), a + reach, reach)), self.sliding)

    def spread(self, joints: Joints) -> Box:
        """The box of the positions of single joints, some of which follow others."""
        of, rate = np.array(joints.coordinate, int), np.array(joints.rate)
        ends = np.array([self.lower[of], self.upper[of]]) * rate + np.array(joints.offset)
        return Box(ends.min(axis=0), ends.max(axis=0), np.array(joints.sliding, bool))

    # functions of one joint: e^{ikq} for |k| ≤ degree, or ((q − mid)/rad)^k for k ≤ degree

    def points(self, i: int, degree: int) -> int:
        return degree + 1 if self.sliding[i] else 2 * degree + 1

    def nodes(self, i: int, degree: int) -> Array:
        """Where the function is evaluated to tell its coefficients."""
        N = self.points(i, degree)
        if self.sliding[i]:
            return np.asarray(self.middle[i] + self.radius[i] * np.linspace(-1, 1, N))
        return np.asarray(2 * np.pi * np.arange(N) / N)

    def transform(self, i: int, degree: int) -> NDArray[np.complex128]:
        """Coefficients from values, (points, points)."""
        N = self.points(i, degree)
        if self.sliding[i]:
            return np.linalg.inv(np.vander(np.linspace(-1, 1, N), increasing=True)).astype(complex)
        k = np.arange(N) - degree
        return np.asarray(np.exp(-2j * np.pi * np.outer(k, np.arange(N)) / N) / N)

    def slopes(self, i: int, degree: int) -> Array:
        """sup |φ'| of each function."""
        if self.sliding[i]:
            return np.asarray(np.arange(degree + 1) / self._scale(i))
        return np.asarray(np.abs(np.arange(2 * degree + 1) - degree), float)

    def bends(self, i: int, degree: int) -> Array:
        """sup |φ''| of each function."""
        if self.sliding[i]:
            k = np.arange(degree + 1)
            return np.asarray(k * (k - 1) / self._scale(i) ** 2)
        return np.asarray((np.arange(2 * degree + 1) - degree) ** 2, float)

    def _scale(self, i: int) -> float:
        return float(self.radius[i]) or 1.0  # a joint that cannot move


def _half_period(model: Model, coordinate: int) -> float:
    """Half of what the coordinate has to move until every joint it moves is where it was, a little more; infinite if
    there is no such thing: a joint slides, or turns at a rate that is no fraction of small numbers."""
    count = 1
    for body in model.bodies:
        if body.coordinate == coordinate:
            rate = Fraction(body.multiplier).limit_denominator(FRACTION)
            if not body.joint.periodic or float(rate) != body.multiplier:
                return np.inf
            count = math.lcm(count, rate.denominator)
    return float(count * CIRCLE)


@dataclass(frozen=True)
class Joints:
    """How the joints x follow the coordinates q: x_b = rate_b q[coordinate_b] + offset_b."""

    coordinate: tuple[int, ...]
    rate: tuple[float, ...]
    offset: tuple[float, ...]
    sliding: tuple[bool, ...]

    @staticmethod
    def of(model: Model) -> Joints:
        b = model.bodies
        return Joints(
            tuple(x.coordinate for x in b),
            tuple(x.multiplier for x in b),
            tuple(x.offset for x in b),
            tuple(not x.joint.turns for x in b),
        )

    def positions(self, q: Scalars) -> list[Scalar]:
        rows = zip(self.coordinate, self.rate, self.offset, strict=True)
        return [q[i] * rate + offset if (rate, offset) != (1.0, 0.0) else q[i] for i, rate, offset in rows]

    def rates(self, n: int) -> NDArray[np.float64]:
        """∂x/∂q, (joints, n)."""
        G = np.zeros((len(self.rate), n))
        G[np.arange(len(self.rate)), np.array(self.coordinate, int)] = self.rate
        return G


def unfold(model: Model) -> Model:
    """The same tree with every joint a coordinate of its own."""
    bodies = tuple(replace(b, coordinate=i, position=i, multiplier=1.0, offset=0.0) for i, b in enumerate(model.bodies))
    own = (Coordinate(b.joint_name, b.joint, first=i, position=i) for i, b in enumerate(bodies))
    return replace(model, bodies=bodies, coordinates=tuple(own))


def pairs(n: int) -> list[Pair]:
    """The upper triangle, row by row."""
    return list(combinations_with_replacement(range(n), 2))


def symmetric(n: int, upper: Sequence[Scalar]) -> list[list[Scalar]]:
    """The matrix of which `upper` is the upper triangle."""
    A: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for (i, j), x in zip(pairs(n), upper, strict=True):
        A[i][j] = A[j][i] = x
    return A


def _mass(model: Model, x: Scalars) -> NDArray[np.object_]:
    return np.array(composite.mass_matrix(model, x), object)


def _gravity(model: Model, x: Scalars) -> NDArray[np.object_]:
    return np.array(newton_euler.gravity_torque(model, x), object)


def _slope(model: Model, x: Scalars) -> NDArray[np.object_]:
    """∂g/∂x."""
    rest = [0.0] * len(x)
    return np.array(derivatives.inverse_dynamics_derivatives(model, x, rest, rest)[0], object)


def _christoffel(model: Model, x: Scalars) -> NDArray[np.object_]:
    return np.array(composite.christoffel(model, x), object)


# name → (algorithm over the joints, its number of indices)
FUNCTIONS: dict[str, tuple[Callable[[Model, Scalars], Any], int]] = {
    "mass": (_mass, 2),
    "gravity": (_gravity, 1),
    "slope": (_slope, 2),
    "christoffel": (_christoffel, 3),
}


def entries(name: str, model: Model, x: Scalars) -> list[Scalar]:
    """The independent entries of a function of coordinates, for the joints' positions x: a vector; the upper triangle
    of a symmetric matrix; of Γ_ijk those with i ≤ j, k last."""
    algorithm, indices = FUNCTIONS[name]
    T = algorithm(unfold(model), x)
    if model.mimics:
        G = np.array(Joints.of(model).rates(model.n).tolist(), object)
        for axis in range(indices):
            T = np.moveaxis(np.tensordot(T, G, axes=(axis, 0)), -1, axis)
    n = model.n
    if indices == 1:
        return list(T)
    if indices == 2:
        return [T[i, j] for i, j in pairs(n)]
    return [T[i, j, k] for i, j in pairs(n) for k in range(n)]
